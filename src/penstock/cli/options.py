"""Options that many commands share, and the settings they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.config import Settings, load_settings
from penstock.config.settings import LoadedSettings
from penstock.config.yaml_file import Value

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_given: dict[str, Value] = {}
_file: list[Path] = []


def remember(file: Path | None, options: dict[str, Value]) -> None:
    """Keep what was given before the command's name; the command's own options come on top."""
    _given.clear()
    _given.update(options)
    _file[:] = [file] if file else []


def loaded_settings(**options: Value) -> LoadedSettings:
    """The settings with where each came from; options given on the command line win."""
    return load_settings(_file[0] if _file else None, options={**_given, **options})


def settings(**options: Value) -> Settings:
    """The settings for this call."""
    return loaded_settings(**options).settings
