"""How a pipeline is told to end, and why."""

from __future__ import annotations

from threading import Event, Lock


class Halt:
    """Set once by whoever wants the pipeline to end; the first `failure`, if any, is the reason."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self._event = Event()
        self._lock = Lock()
        self.is_set = self._event.is_set
        self.wait = self._event.wait

    def set(self) -> None:
        """End in good order."""
        self._event.set()

    def fail(self, error: BaseException) -> None:
        """End because of this."""
        with self._lock:
            self.failure = self.failure or error
        self._event.set()
