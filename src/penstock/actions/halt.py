"""How a pipeline is told to end, and why."""

from __future__ import annotations

from threading import Event, Lock


class Halt:
    """Set once by whoever wants the pipeline to end; the first `failure`, if any, is the reason.

    `is_set` is a plain attribute, since it is looked at for every event.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.failure: BaseException | None = None
        self._event = Event()
        self._lock = Lock()

    def set(self) -> None:
        """End in good order."""
        self.is_set = True
        self._event.set()

    def fail(self, error: BaseException) -> None:
        """End because of this."""
        with self._lock:
            self.failure = self.failure or error
        self.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, but not longer than this; whether it has come."""
        return self._event.wait(seconds)
