"""Suggest the closest known name for a mistyped name."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

_COMPARED = 5
_LONGEST = 60


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint with the closest known name, or `otherwise` if none is close."""
    close = difflib.get_close_matches(name, _alike(name, known), n=1) if len(name) <= _LONGEST else []
    return f"did you mean {close[0]}?" if close else otherwise


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
