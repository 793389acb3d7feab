"""Ending what takes too long, without a timer for each request."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from time import monotonic


class Deadlines:
    """Whoever started something more than `seconds` ago is told at the next tick.

    Starting and stopping cost two look-ups in a dictionary; a timer of the event loop would cost every request more
    than its check against the schema does.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._count = 0
        self._running: dict[int, tuple[float, Callable[[], object]]] = {}

    def start(self, on_late: Callable[[], object]) -> int:
        """Begin to watch over something; `on_late` is called once if it is not stopped in time."""
        self._count += 1
        self._running[self._count] = (self._now(), on_late)
        return self._count

    def stop(self, number: int) -> bool:
        """Watch no longer; whether it was in time."""
        return self._running.pop(number, None) is not None

    def tick(self) -> None:
        """Tell all that are late; they stand in the order in which they began."""
        began_before = self._now() - self.seconds
        late = list(takewhile(lambda item: item[1][0] <= began_before, self._running.items()))
        for number, (_, on_late) in late:
            if self.stop(number):
                on_late()
