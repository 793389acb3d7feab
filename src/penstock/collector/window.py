"""Which ids were taken lately: a repeated one is answered with the first one's result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, Protocol

from penstock.kafka.acknowledged import Delivery

_PASSED_OVER = 2
"""Ids underway that are put behind the others with each new one, so that the search for older ones stays short."""


class EventKey(NamedTuple):
    """What makes two events the same: ids are the client's own affair, so another client's never count."""

    client: str
    topic: str
    event_id: str


class Window(Protocol):
    """Remembers deliveries by id for a while; one that failed is forgotten, so that a retry is sent."""

    def find(self, key: EventKey) -> Delivery | None:
        """The delivery of this event if it is underway or done; who gets nothing is the first, and goes on to send."""
        ...

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """Keep the delivery that was made for an event."""
        ...

    def let_go(self, key: EventKey) -> None:
        """Forget an event that was not sent after all."""
        ...


class _Entry(NamedTuple):
    delivery: Delivery
    until: float

    def is_over(self, now: float) -> bool:
        """Whether its time is over, which it never is while the event is underway and might be sent twice."""
        return self.until < now and self.delivery.settled


class OwnWindow:
    """The window of one worker: so many seconds, and so many ids at the most; `on_forget` hears which ids leave."""

    def __init__(
        self,
        seconds: float,
        most: int,
        *,
        now: Callable[[], float] = monotonic,
        on_forget: Callable[[EventKey], None] = lambda _key: None,
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._now = now
        self._on_forget = on_forget
        self._entries: OrderedDict[EventKey, _Entry] = OrderedDict()

    def find(self, key: EventKey) -> Delivery | None:
        """See `Window`."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.delivery.error is not None or entry.is_over(self._now()):
            del self._entries[key]  # who asked begins anew, and must not be told later that the id leaves
            return None
        return entry.delivery

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """See `Window`; what is too old or too many is let go, but never while it is underway."""
        now = self._now()
        self._entries.pop(key, None)
        self._entries[key] = _Entry(delivery, now + self._seconds)
        passed_over = 0
        while passed_over < _PASSED_OVER and self._must_go(now):
            oldest, entry = self._entries.popitem(last=False)
            if entry.delivery.settled:
                self._on_forget(oldest)
            else:
                self._entries[oldest] = entry
                passed_over += 1

    def let_go(self, key: EventKey) -> None:
        """See `Window`."""
        self._entries.pop(key, None)

    def _must_go(self, now: float) -> bool:
        return len(self._entries) > self._most or next(iter(self._entries.values())).is_over(now)
