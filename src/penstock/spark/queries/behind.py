"""Run the last steps of a batch in the background while Spark reads the next batch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Behind:
    """Background thread that runs one task at a time.

    `begin` and `wait` raise the previous task's error; after an error, no further task starts.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "penstock-behind")
        self._last: Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a task is still running."""
        return self._last is not None and not self._last.done()

    @property
    def failure(self) -> BaseException | None:
        """The error of the last task; None if the task succeeded or is still running."""
        return None if self._last is None or self.is_busy else self._last.exception()

    def begin(self, work: Callable[[], None]) -> None:
        """Submit work after the previous task has finished. Raise the previous task's error, if any."""
        self.wait()
        self._last = self._thread.submit(work)

    def wait(self) -> None:
        """Wait until the last task has finished. Raise the task's error, if any."""
        if self._last is not None:
            self._last.result()

    def settle(self, seconds: float) -> None:
        """Wait up to `seconds`; ignore the result."""
        if self._last is not None:
            wait([self._last], max(0.0, seconds))
