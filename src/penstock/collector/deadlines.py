"""Deadlines of requests, without a timer for each request."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from time import monotonic


class Deadlines:
    """Calls back work that started more than `seconds` ago, at the next tick.

    Starting and stopping cost two dictionary operations. A timer of the event loop would cost more per request than the
    schema check.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._count = 0
        self._running: dict[int, tuple[float, Callable[[], object]]] = {}

    def start(self, on_late: Callable[[], object]) -> int:
        """Start a deadline. Call `on_late` once if the deadline is not stopped in time."""
        self._count += 1
        self._running[self._count] = (self._now(), on_late)
        return self._count

    def stop(self, number: int) -> bool:
        """Stop a deadline. Return whether it was still running."""
        return self._running.pop(number, None) is not None

    def tick(self) -> None:
        """Call `on_late` of every expired deadline. Deadlines are stored in starting order."""
        began_before = self._now() - self.seconds
        late = list(takewhile(lambda item: item[1][0] <= began_before, self._running.items()))
        for number, (_, on_late) in late:
            if self.stop(number):
                on_late()
