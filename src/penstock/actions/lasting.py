"""For how long something stays the same, as far as those know who look at it from time to time."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple


class _Seen(NamedTuple):
    what: object
    since: float


class Lasting:
    """Remembers when a thing was first seen, so that what is looked at need not note the time of every change."""

    def __init__(self) -> None:
        self._seen = _Seen(None, 0.0)

    def seconds(self, what: object) -> float:
        """For how long this has been seen without anything else between; None is nothing, and lasts for no time."""
        now = monotonic()
        if what != self._seen.what:
            self._seen = _Seen(what, now)
        return 0.0 if what is None else now - self._seen.since
