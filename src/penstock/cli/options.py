"""Options that many commands share, and the settings they lead to."""

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


def pairs(given: list[str]) -> dict[str, str]:
    """`NAME=VALUE` options as a mapping."""
    split = [item.partition("=") for item in given]
    for item, (name, equals, _) in zip(given, split, strict=True):
        if not (name and equals):
            raise UsageError(f"--set {item}: this is not NAME=VALUE", hint="write --set retention.ms=3600000")
    return {name: value for name, _, value in split}
