"""Loader of pipeline files. Everything is checked, and every mistake reported with its line, before the start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from penstock.actions.clients import clients_of
from penstock.actions.filters import compile_filter
from penstock.actions.registry import ACTIONS, TRANSFORMERS, Kind, find_class
from penstock.actions.retries import told
from penstock.actions.spec import PipelineSpec
from penstock.config import Settings
from penstock.config.validation import problems, validate
from penstock.config.yaml_file import KeyPath, YamlFile
from penstock.errors import ConfigError, PenstockError, Problem, UsageError
from penstock.schemas import connect_registry


def is_enabled(file: YamlFile) -> bool:
    """Return whether the file is enabled. Checked first, because a disabled file may be half finished."""
    return str(file.content.get("enabled", True)).strip().lower() not in {"false", "no", "off", "0"}


def load_pipeline(file: YamlFile) -> PipelineSpec:
    """Return the pipeline of a file. A ConfigError lists every problem with its line."""
    _let_import_from(file)
    found = [*_plugin_problems(file), *_filter_problems(file)]
    try:
        spec = validate(PipelineSpec, file)
    except ConfigError as error:
        found += error.problems
    wrong = file.with_others(found)
    if wrong:
        raise ConfigError(wrong)
    return spec


def check_clients(spec: PipelineSpec, file: YamlFile, settings: Settings) -> None:
    """Check the connection and its files, such as keystores, without connecting. Raise ConfigError if unusable."""
    try:
        connect_registry(clients_of(spec, settings).others)
    except PenstockError as error:
        place = ("source", "config", "connection")
        raise ConfigError([Problem(file.place(place), f"{_dotted(place)}: {error.message}", error.hint)]) from error


def _let_import_from(file: YamlFile) -> None:
    """Make user classes importable from the file's directory and the working directory."""
    for directory in (str(file.path.resolve().parent), ""):
        if directory not in sys.path:
            sys.path.append(directory)


def _filter_problems(file: YamlFile) -> list[Problem]:
    try:
        compile_filter(file.content.get("filter"), file.content.get("filters"), file.place)
    except ConfigError as error:
        return error.problems
    return []


def _plugin_problems(file: YamlFile) -> Iterator[Problem]:
    steps = file.content.get("transform")
    for index, step in enumerate(steps if isinstance(steps, list) else []):
        yield from _problems_of(TRANSFORMERS, step, ("transform", index), file)
    yield from _problems_of(ACTIONS, file.content.get("action"), ("action",), file)


def _problems_of(kind: Kind, plugin: Any, path: KeyPath, file: YamlFile) -> list[Problem]:  # noqa: ANN401 - any YAML value
    if not isinstance(plugin, dict) or not isinstance(plugin.get("type"), str):
        return []
    try:
        model = getattr(find_class(kind, plugin["type"]), "Config", None)
    except UsageError as error:
        return [Problem(file.place((*path, "type")), f"{_dotted(path)}.type: {error.message}", error.hint)]
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return []
    try:
        model.model_validate(plugin.get("config") or {})
    except ValidationError as error:
        return problems(error, model, file.place, (*path, "config"))
    except Exception as error:  # noqa: BLE001 - a user's model may raise anything; other files must still run
        return [Problem(file.place((*path, "config")), f"{_dotted(path)}.config: {told(error)[1]}")]
    return []


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))
