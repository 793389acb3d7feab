"""Stop signal of a pipeline, with the reason."""

from __future__ import annotations

from threading import Event, Lock


class Halt:
    """Stop signal. The first `failure`, if any, is the reason.

    `is_set` is a plain attribute because it is read for every event.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.failure: BaseException | None = None
        self._event = Event()
        self._lock = Lock()

    def set(self) -> None:
        """Request an orderly stop."""
        self.is_set = True
        self._event.set()

    def fail(self, error: BaseException) -> None:
        """Request a stop because of an error."""
        with self._lock:
            self.failure = self.failure or error
        self.set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the stop signal. Return whether it is set."""
        return self._event.wait(seconds)
