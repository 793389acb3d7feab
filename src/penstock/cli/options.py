"""Options shared by many commands, and the resulting settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.config import Settings, load_settings
from penstock.config.settings import LoadedSettings
from penstock.config.yaml_file import Value
from penstock.errors import UsageError

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

SetOption = Annotated[list[str], typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")]

_given: dict[str, Value] = {}
_file: list[Path] = []


def remember(file: Path | None, options: dict[str, Value]) -> None:
    """Remember the options given before the command's name. The command's own options take precedence."""
    _given.clear()
    _given.update(options)
    _file[:] = [file] if file else []


def loaded_settings(**options: Value) -> LoadedSettings:
    """Return the settings with their sources. Command-line options take precedence."""
    return load_settings(_file[0] if _file else None, options={**_given, **options})


def settings(**options: Value) -> Settings:
    """Return the settings for this call."""
    return loaded_settings(**options).settings


def pairs(given: list[str]) -> dict[str, str]:
    """Parse `NAME=VALUE` options into a mapping."""
    split = [item.partition("=") for item in given]
    for item, (name, equals, _) in zip(given, split, strict=True):
        if not (name and equals):
            raise UsageError(f"--set {item}: this is not NAME=VALUE", hint="write --set retention.ms=3600000")
    return {name: value for name, _, value in split}
