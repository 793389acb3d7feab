"""Suggest the closest known name for a mistyped name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 249
"""No name of Kafka's is longer."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint with the closest known name, or `otherwise` if none is close."""
    names = [other for other in known if len(other) <= _LONGEST]
    close = difflib.get_close_matches(name, names, n=1) if len(name) <= _LONGEST else []
    return f"did you mean {close[0]}?" if close else otherwise
