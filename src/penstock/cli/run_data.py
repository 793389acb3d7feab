"""Data pipelines, run by `penstock run`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.run_files import DataOptions
from penstock.config.yaml_file import YamlFile
from penstock.errors import UsageError


def run(files: Sequence[YamlFile], options: DataOptions) -> int:
    """Run every file's pipeline until all have ended; the exit code."""
    raise UsageError(f"{files[0].path} is a data pipeline, which this version does not run yet", hint=f"{options}")
