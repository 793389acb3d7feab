"""Keep a member in its group while the caller works for longer than max.poll.interval.ms."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, current_thread
from time import monotonic
from weakref import WeakMethod

from confluent_kafka import KafkaException, Message

from penstock.kafka.errors import translate
from penstock.kafka.session import Session

_TICK_SECONDS = 0.25


class KeepAlive:
    """Polls in place of a caller that has been busy for `patience` seconds.

    Polling keeps the member alive and serves rebalances. Partitions are paused meanwhile, so that nothing new is
    fetched. After a resume, librdkafka fetches messages again unless already handed over. A message that arrives during
    the pause is passed to `keep`, and `tick` is called after each poll. The thread ends with `stop`, or when nothing
    references this object.
    """

    def __init__(
        self, session: Session, patience: float, *, keep: Callable[[Message], None], tick: Callable[[], None]
    ) -> None:
        self._session = session
        self._handle = session.handle
        self._lock = session.lock
        self._patience = patience
        self._keep = keep
        self._tick = tick
        self._left_at = monotonic()
        self._paused = False
        self._stop = Event()
        self._thread = Thread(target=_run, args=(WeakMethod(self._stand_in), self._stop), daemon=True)

    def start(self) -> None:
        """Start watching the caller."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not current_thread():
            self._thread.join()

    def caller_comes(self) -> None:
        """Resume paused partitions: the caller, holding the lock, now polls."""
        if self._paused:
            self._handle.resume(self._handle.assignment())
            self._paused = False

    def caller_goes(self) -> None:
        """Note that the caller, still holding the lock, starts processing."""
        self._left_at = monotonic()

    def _stand_in(self) -> None:
        if not self._lock.acquire(blocking=False):
            return
        try:
            if monotonic() - self._left_at >= self._patience:
                self._poll_paused()
        except KafkaException as failure:
            self._session.failures.append(translate(failure.args[0], "staying in the group"))
        finally:
            self._lock.release()

    def _poll_paused(self) -> None:
        self._paused = True
        self._handle.pause(self._handle.assignment())
        message = self._handle.poll(0)
        if message is not None:
            self._keep(message)
        self._tick()


def _run(stand_in: WeakMethod[Callable[[], None]], stop: Event) -> None:
    while not stop.wait(_TICK_SECONDS):
        poll = stand_in()
        if poll is None:
            return
        poll()
        del poll
