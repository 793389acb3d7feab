"""Window of recent ids. A repeated id is answered with the result of the first event."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, Protocol

from penstock.kafka.acknowledged import Delivery

_PASSED_OVER = 2
"""Limit of ids underway that are moved to the end for each new id. Keeps the search for old ids short."""


class EventKey(NamedTuple):
    """Identity of an event. Includes the client, because ids of different clients are independent."""

    client: str
    topic: str
    event_id: str


class Window(Protocol):
    """Remembers deliveries by id for a while. Failed deliveries are forgotten, so that a retry is sent."""

    def find(self, key: EventKey) -> Delivery | None:
        """Return the event's delivery if underway or done.

        After None, the caller is the first and must send the event.
        """
        ...

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """Store the delivery of an event."""
        ...

    def let_go(self, key: EventKey) -> None:
        """Forget an event that was not sent after all."""
        ...


class _Entry(NamedTuple):
    delivery: Delivery
    until: float

    def is_over(self, now: float) -> bool:
        """Whether the entry has expired. An event underway never expires, because it might be sent twice."""
        return self.until < now and self.delivery.settled


class OwnWindow:
    """Window of one worker, limited in seconds and ids. `on_forget` is called with each evicted id."""

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
        """Return the delivery, unless it failed or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.delivery.error is not None or entry.is_over(self._now()):
            del self._entries[key]  # no `on_forget`: the caller claims the id again, and must not lose the claim later
            return None
        return entry.delivery

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """Store the delivery. Evict entries that are too old or too many, but none underway."""
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
        """Remove the entry, if any."""
        self._entries.pop(key, None)

    def _must_go(self, now: float) -> bool:
        return len(self._entries) > self._most or next(iter(self._entries.values())).is_over(now)
