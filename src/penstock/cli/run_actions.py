"""`penstock run` for actions: several files in one process, until they are stopped."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

from penstock.actions.loading import is_enabled, load_pipeline
from penstock.actions.pipeline import Pipeline
from penstock.actions.runner import Runner
from penstock.actions.spec import PipelineSpec
from penstock.actions.unit import PipelineThread
from penstock.cli.options import settings
from penstock.cli.output import show_error
from penstock.cli.run_files import ActionOptions
from penstock.cli.signals import ends_by_signal
from penstock.config.yaml_file import YamlFile


def run(files: Sequence[YamlFile], options: ActionOptions) -> int:
    """Run the actions of these files; the exit code."""
    specs = _load(files)
    chosen = settings()
    charges = [PipelineThread(Pipeline(spec, chosen, limit=options.max)) for spec in specs]
    stop = Event()
    failures = {}
    with ends_by_signal():
        try:
            failures = Runner(charges).run(stop)
        except KeyboardInterrupt:
            pass
    for error in failures.values():
        show_error(error)
    return 1 if failures else 0


def _load(files: Sequence[YamlFile]) -> list[PipelineSpec]:
    return [load_pipeline(file) for file in files if is_enabled(file)]
