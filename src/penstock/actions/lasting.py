"""Timer for a polled value: how long the value has been unchanged."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple


class _Seen(NamedTuple):
    what: object
    since: float


class Lasting:
    """Timer of an unchanged value. The observed object need not record the time of every change."""

    def __init__(self) -> None:
        self._seen = _Seen(None, 0.0)

    def seconds(self, what: object) -> float:
        """Return for how many seconds this value has been seen without interruption; 0 for None."""
        now = monotonic()
        if what != self._seen.what:
            self._seen = _Seen(what, now)
        return 0.0 if what is None else now - self._seen.since
