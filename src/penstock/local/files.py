"""Helpers for small configuration files and directories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from penstock.config.java_properties import properties_text
from penstock.errors import LocalError


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a Java properties file, readable only by its owner."""
    write_private(path, properties_text(properties))


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner."""
    make_directory(path.parent)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.touch(mode=0o600)
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def make_directory(path: Path) -> Path:
    """Create a directory and its parents, if missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(
            f"the directory {path} cannot be made: {error.strerror}", hint="name another one, or change its rights"
        ) from error
    return path


def make_private_directory(path: Path) -> Path:
    """Create a directory accessible only to its owner, or restrict an existing directory."""
    make_directory(path).chmod(0o700)
    return path


def installed(package: str) -> Path:
    """Return the directory of an installed package without importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LocalError(f"the package {package} is not installed", hint="install penstock again")
    return Path(spec.submodule_search_locations[0])
