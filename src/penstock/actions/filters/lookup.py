"""Finding a value in an event by a field's name, or by a path such as `parameters.owners.0.name` or `tags.*`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Final

ANY = "*"


class Missing(Enum):
    """The type of `MISSING`, which stands for a field that is not there."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def opened(value: object) -> object:
    """Text, or bytes, that hold JSON as what they hold, and anything else as it is."""
    if not isinstance(value, str | bytes):
        return value
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed


def as_text(value: object) -> object:
    """Bytes as the text they hold, which is how JSON shows them; anything else as it is."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def is_path(key: str) -> bool:
    """Whether a key may lead into nested values, instead of naming a field."""
    return "." in key or key == ANY


def values_at(value: object, key: str) -> Iterator[object]:
    """Every value that the path leads to; a field whose name is the whole path comes before what the path means."""
    inside = opened(value)
    if isinstance(inside, dict) and key in inside:
        yield inside[key]
    else:
        yield from _walk(inside, key.split("."), 0)


def value_at(value: object, key: str) -> object:
    """The first value that the path leads to, or None."""
    return next(values_at(value, key), None)


def _walk(value: object, steps: list[str], depth: int) -> Iterator[object]:
    if depth == len(steps):
        yield value
        return
    for inner in _step(opened(value), steps[depth]):
        yield from _walk(inner, steps, depth + 1)


def _step(value: object, step: str) -> Iterator[object]:
    if isinstance(value, dict):
        if step in value:
            yield value[step]
        elif step == ANY:
            yield from value.values()
    elif isinstance(value, list):
        if step == ANY:
            yield from value
        elif step.isdecimal() and int(step) < len(value):
            yield value[int(step)]
