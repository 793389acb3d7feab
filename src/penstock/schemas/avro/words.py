"""Formatting of values and names in messages about schemas and records."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from penstock.config.suggest import did_you_mean

_SHOWN = 60
_SHOWN_ITEMS = 20
_SHOWN_LEVELS = 10
_SHOWN_BITS = 10_000
_COMPARED = 5
_LONGEST = 60
"""Events are rejected by the thousand: no more names, and no longer ones, are compared for a suggestion."""


def shown(value: object) -> str:
    """Return a value as text, shortened if long. Huge values take no longer than short ones."""
    text = _text(value, _SHOWN_LEVELS)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _text(value: object, levels: int) -> str:
    match value:
        case str() | bytes() | bytearray():
            return repr(value[: _SHOWN + 1])
        case bool() | int():
            return repr(value) if value.bit_length() <= _SHOWN_BITS else f"a number of {value.bit_length()} bits"
        case Mapping() | list() | tuple() if levels == 0:
            return "..."
        case Mapping():
            items = islice(value.items(), _SHOWN_ITEMS)
            inside = ", ".join(f"{_text(key, 0)}: {_text(item, levels - 1)}" for key, item in items)
            return f"{{{inside}}}"
        case list() | tuple():
            inside = ", ".join(_text(item, levels - 1) for item in value[:_SHOWN_ITEMS])
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
        case _:
            return repr(value)


def listed(names: Sequence[str]) -> str:
    """Return names as a list, shortened if there are many."""
    more = len(names) - _SHOWN_ITEMS
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_SHOWN_ITEMS])} and {more} more"


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean x?` if a known name is similar, else an empty text."""
    suggestion = did_you_mean(name, _alike(name, known), "") if len(name) <= _LONGEST else ""
    return f"; {suggestion}" if suggestion else ""


def _alike(name: str, known: Iterable[str]) -> list[str]:
    """Return the names with the most similar start and end: comparing hundreds closely would take milliseconds."""
    names = [other for other in known if len(other) <= _LONGEST]
    if len(names) <= _COMPARED or not name:
        return names
    start, end, length = name[:2], name[-2:], len(name)
    return heapq.nlargest(
        _COMPARED,
        names,
        key=lambda other: (other[:2] == start) + (other[-2:] == end) - abs(len(other) - length) / length,
    )
