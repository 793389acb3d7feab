"""Which ids were taken lately: a repeated one is answered with the first one's result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from penstock.kafka.acknowledged import Delivery


class EventKey(NamedTuple):
    """What makes two events the same: ids are the client's own affair, so another client's never count."""

    client: str
    topic: str
    event_id: str


class _Entry(NamedTuple):
    delivery: Delivery
    until: float


class Window:
    """Remembers deliveries by id, for so many seconds and so many ids at the most.

    A delivery that failed is forgotten, so that a retry is sent.
    """

    def __init__(self, seconds: float, most: int, now: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._now = now
        self._entries: OrderedDict[EventKey, _Entry] = OrderedDict()

    def find(self, key: EventKey) -> Delivery | None:
        """The delivery of this event if it is underway or done, within the window."""
        entry = self._entries.get(key)
        if entry is None or entry.delivery.error is not None or entry.until < self._now():
            return None
        return entry.delivery

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """Keep a delivery, and let go of what is too old or too many."""
        now = self._now()
        self._entries.pop(key, None)
        self._entries[key] = _Entry(delivery, now + self._seconds)
        while len(self._entries) > self._most or self._oldest().until < now:
            self._entries.popitem(last=False)

    def _oldest(self) -> _Entry:
        return next(iter(self._entries.values()))
