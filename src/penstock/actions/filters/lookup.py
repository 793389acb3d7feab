"""Lookup of values in an event by a field's name, or by a path such as `parameters.owners.0.name` or `tags.*`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Final

ANY = "*"


class Missing(Enum):
    """Type of `MISSING`, the value of a missing field."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def opened(value: object) -> object:
    """Return the parsed value of text or bytes with JSON, other values unchanged."""
    if not isinstance(value, str | bytes):
        return value
    try:
        parsed: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed


def as_text(value: object) -> object:
    """Return bytes as text, as in JSON, and other values unchanged."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def is_path(key: str) -> bool:
    """Whether a key may lead into nested values, instead of naming a field."""
    return "." in key or key == ANY


def values_at(value: object, key: str) -> Iterator[object]:
    """Yield every value at the path. A field named exactly like the whole path takes precedence."""
    inside = opened(value)
    if isinstance(inside, dict) and key in inside:
        yield inside[key]
    else:
        yield from _walk(inside, key.split("."), 0)


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
