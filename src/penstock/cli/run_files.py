"""The files of `penstock run`: what each of them is, and the options that belong to each kind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from penstock.actions.loading import is_enabled
from penstock.config.settings import PREFIX, LoadedSettings
from penstock.config.yaml_file import YamlFile, read_to_check
from penstock.errors import ConfigError, Problem, UsageError

_MISTYPED = 0.8
"""How like `action` a key is that was meant to be it; `options` is not."""

Kind = Literal["action", "data"]
SubmitTarget = Literal["yarn", "kubernetes"]
"""As `penstock.pipelines.submit_line` has it, named here so that actions start without Spark."""


@dataclass(frozen=True)
class ActionOptions:
    """What may be asked of actions: go through the motions only, end after so many events, take events from a file."""

    check: bool = False
    metrics_port: int | None = None
    dry_run: bool = False
    max: int | None = None
    events: Path | None = None


@dataclass(frozen=True)
class DataOptions:
    """What may be asked of data pipelines: check only, print how to submit them, serve metrics."""

    check: bool = False
    print_submit: SubmitTarget | None = None
    metrics_port: int | None = None


def read_files(paths: Sequence[Path], environment: Mapping[str, str]) -> tuple[list[YamlFile], list[Problem]]:
    """The files that can be read, and the problems of the others; a ConfigError if not one can be read."""
    found: list[YamlFile] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(read_to_check(path, environment))
        except ConfigError as error:
            problems += error.problems
    if not found:
        raise ConfigError(problems)
    return found, problems


def kind_of(files: Sequence[YamlFile]) -> Kind:
    """What the files are; one call runs actions or data pipelines, which have different processes and options.

    A file that says neither is taken for what the others are, and its mistakes are told as theirs would be.
    """
    actions = [file for file in files if "action" in file.content]
    data = [file for file in files if "sinks" in file.content and file not in actions]
    if actions and data:
        raise UsageError(
            f"{actions[0].path} is an action, and {data[0].path} is a data pipeline",
            hint="run them by two commands",
        )
    return "action" if actions or (not data and any(map(_is_rather_an_action, files))) else "data"


def _is_rather_an_action(file: YamlFile) -> bool:
    """Whether a file that has neither of the words comes closer to an action; only actions can be switched off."""
    return not is_enabled(file) or bool(get_close_matches("action", file.content, cutoff=_MISTYPED))


def file_environment(loaded: LoadedSettings) -> dict[str, str]:
    """The variables that files may use: `PENSTOCK_BOOTSTRAP` is the setting, also where an option or a file gave it."""
    return {**os.environ, **given_settings(loaded)}


def given_settings(loaded: LoadedSettings) -> dict[str, str]:
    """The plain settings that somebody gave, as variables."""
    given = {name: value for name, value in loaded.settings if name in loaded.sources}
    return {f"{PREFIX}{name.upper()}": _text(value) for name, value in given.items() if isinstance(value, _PLAIN)}


_PLAIN = (str, int, float, Path, SecretStr)


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
