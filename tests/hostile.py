"""Things as they may be read from Kafka, PostgreSQL or a remote server, with hostile text in every place for text."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import inspect
import types
import typing
from collections import abc, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x85\u202eb\rc\nd\x7f\ud800[red]x[/]"


class CannotMake(Exception):
    """A parameter of a type that only a program makes."""


OF_PROGRAMS = {"Settings", "StackOptions", "LoadedSettings", "YamlFile", "Schema", "Pipeline", "Counts"}
"""What a person or the program makes, and what cannot be made of parts."""

MOMENT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Row(dict[str, Any]):
    """A database's row: hostile text in every column of text, and something fitting in the others."""

    def __missing__(self, key: str) -> Any:
        if key.startswith("valid_") or key.endswith("_time"):
            return MOMENT
        if key.endswith("_count") or key == "version":
            return 7
        if key in {"properties", "diff"}:
            return Row({HOSTILE: HOSTILE})
        return [Row()] if key in {"fields", "added", "removed", "modified"} else HOSTILE


def hostile_arguments(function: Callable[..., Any]) -> list[Any]:
    """Arguments of the types that the function asks for; CannotMake where none of them is a thing that was read."""
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise CannotMake(str(error)) from error
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.KEYWORD_ONLY and each.default is each.empty for each in parameters):
        raise CannotMake("keywords")
    wanted = [hints[each.name] for each in parameters if each.default is each.empty]
    if not any(map(_is_thing, wanted)):
        raise CannotMake("no thing that was read")
    return [hostile(kind) for kind in wanted]


def _is_thing(kind: Any) -> bool:
    inner = [kind, *typing.get_args(kind)]
    return any(isinstance(each, type) and each.__module__.startswith("penstock.") and _fields(each) for each in inner)


def _fields(kind: type) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.init]
    elif issubclass(kind, msgspec.Struct):
        names = list(kind.__struct_fields__)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = list(kind._fields)
    else:
        return {}
    hints = typing.get_type_hints(kind)
    return {name: hints[name] for name in names}


def hostile(kind: Any) -> Any:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of type
    """A value of a type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(kind, "__supertype__"):
        return hostile(kind.__supertype__)
    if kind is Any or kind is object:
        return HOSTILE
    if origin is typing.Annotated:
        return hostile(inner[0])
    if origin is typing.Literal:
        return inner[0]
    if origin in {typing.Union, types.UnionType}:
        return hostile(next(each for each in inner if each is not type(None)))
    if origin is tuple:
        return tuple(hostile(each) for each in inner if each is not Ellipsis)
    if origin in {dict, abc.Mapping}:
        made = {hostile(inner[0]): hostile(inner[1])}
        return Row(made) if inner[0] is str else made
    if origin in {list, set, frozenset, deque, abc.Sequence, abc.Iterable, abc.Collection, abc.Set}:
        made = [hostile(inner[0])]
        return origin(made) if origin in {set, frozenset, deque} else made
    simple = {str: HOSTILE, bytes: HOSTILE.encode("utf-8", "surrogatepass"), int: 7, float: 1.5, bool: True}
    if kind in simple:
        return simple[kind]
    if kind is dt.datetime:
        return MOMENT
    if kind is dt.timedelta:
        return dt.timedelta(seconds=3)
    if kind is Path:
        return Path(HOSTILE.replace("\ud800", ""))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__.startswith("penstock."):
        return kind(HOSTILE, hint=HOSTILE)
    if isinstance(kind, type) and kind.__name__ in OF_PROGRAMS:
        raise CannotMake(kind.__name__)
    if isinstance(kind, type) and (fields := _fields(kind)):
        return kind(**{name: hostile(each) for name, each in fields.items()})
    raise CannotMake(str(kind))
