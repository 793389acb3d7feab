"""Files of `penstock run`: kinds of files, and the options of each kind."""

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
"""Similarity of a misspelled key to `action`, above which the file counts as an action. `options` is below."""

Kind = Literal["action", "data"]
SubmitTarget = Literal["yarn", "kubernetes"]
"""Copy of the type in `penstock.pipelines.submit_line`. Actions thus start without Spark."""


@dataclass(frozen=True)
class ActionOptions:
    """Options of actions: check only, metrics port, dry run, maximum number of events, and events from a file."""

    check: bool = False
    metrics_port: int | None = None
    dry_run: bool = False
    max: int | None = None
    events: Path | None = None


@dataclass(frozen=True)
class DataOptions:
    """Options of data pipelines: check only, print the spark-submit line, metrics port."""

    check: bool = False
    print_submit: SubmitTarget | None = None
    metrics_port: int | None = None


def read_files(paths: Sequence[Path], environment: Mapping[str, str]) -> tuple[list[YamlFile], list[Problem]]:
    """Return the readable files, and the problems of the rest. Raise ConfigError if no file is readable."""
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
    """Return the kind of the files. A call runs either actions or data pipelines: processes and options differ.

    A file of unknown kind is treated and validated like the rest of the files.
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
    """Whether a file without either keyword looks like an action. Only actions can be disabled."""
    return not is_enabled(file) or bool(get_close_matches("action", file.content, cutoff=_MISTYPED))


def file_environment(loaded: LoadedSettings) -> dict[str, str]:
    """Return the variables for files. `PENSTOCK_BOOTSTRAP` is the effective setting, including options and files."""
    return {**os.environ, **given_settings(loaded)}


def given_settings(loaded: LoadedSettings) -> dict[str, str]:
    """Return the scalar settings with an explicit value, as environment variables."""
    given = {name: value for name, value in loaded.settings if name in loaded.sources}
    return {f"{PREFIX}{name.upper()}": _text(value) for name, value in given.items() if isinstance(value, _PLAIN)}


_PLAIN = (str, int, float, Path, SecretStr)


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
