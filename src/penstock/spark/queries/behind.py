"""The last steps of a batch, done while Spark reads the next one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Behind:
    """Does one thing at a time on a thread of its own.

    Who begins another thing, or waits, has to hear first that the one before failed; then nothing more is begun.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "penstock-behind")
        self._last: Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is not done yet."""
        return self._last is not None and not self._last.done()

    @property
    def failure(self) -> BaseException | None:
        """What the last thing failed with; None also while it is not done."""
        return None if self._last is None or self.is_busy else self._last.exception()

    def begin(self, work: Callable[[], None]) -> None:
        """Begin, once the thing before is done; raises what that one failed with."""
        self.wait()
        self._last = self._thread.submit(work)

    def wait(self) -> None:
        """Wait until nothing is left to do; raises what it failed with."""
        if self._last is not None:
            self._last.result()

    def settle(self, seconds: float) -> None:
        """Wait so long at most, whatever comes of it."""
        if self._last is not None:
            wait([self._last], max(0.0, seconds))
