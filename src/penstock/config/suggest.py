"""The closest known name, for who mistyped one."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

_COMPARED = 10
_LONGEST = 100


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the closest known name, or `otherwise` where none is close."""
    close = difflib.get_close_matches(name, _alike(name, known), n=1) if len(name) <= _LONGEST else []
    return f"did you mean {close[0]}?" if close else otherwise


def _alike(name: str, known: Iterable[str]) -> list[str]:
    """The names that begin and end most alike: a close comparison of hundreds would take milliseconds."""
    names = list(known)
    if len(names) <= _COMPARED or not name:
        return names
    start, end, length = name[:2], name[-2:], len(name)
    return heapq.nlargest(
        _COMPARED,
        names,
        key=lambda other: (other[:2] == start) + (other[-2:] == end) - abs(len(other) - length) / length,
    )
