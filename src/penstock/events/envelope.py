"""Event with its type and origin, as passed to filters, transformers and actions."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.events.fields import as_plain
from penstock.events.metadata import Event, event_class
from penstock.events.record import ConsumerRecord


class EventEnvelope:
    """`event_type`, `event` and `meta`. `meta["kafka"]` has topic, partition, offset, key, headers and timestamp.

    `record` is the original message, with the bytes of its key and value; None for an event from a file.
    """

    __slots__ = ("_meta", "event", "event_type", "record")

    def __init__(
        self, event_type: str, event: Event, meta: dict[str, Any] | None = None, record: ConsumerRecord | None = None
    ) -> None:
        self.event_type = event_type
        self.event = event
        self.record = record
        self._meta = meta

    @property
    def meta(self) -> dict[str, Any]:
        """Origin of the event, created on first access because most events never need it."""
        if self._meta is None:
            self._meta = {} if self.record is None else {"kafka": kafka_meta(self.record)}
        return self._meta

    @meta.setter
    def meta(self, meta: dict[str, Any]) -> None:
        self._meta = meta

    def as_json(self) -> str:
        """Return the envelope on one line, in the format of DataHub Actions."""
        event_type, meta = (msgspec.json.encode(as_plain(part)).decode() for part in (self.event_type, self.meta))
        return f'{{ "event_type": {event_type}, "event": {self.event.as_json()}, "meta": {meta} }}'

    @classmethod
    def from_json(cls, text: str | bytes) -> EventEnvelope:
        """Parse a line written by `as_json`. Additional keys are ignored."""
        line = msgspec.json.decode(text, type=_Line)
        return cls(line.event_type, event_class(line.event_type)(line.event), line.meta or {})

    def __repr__(self) -> str:
        """Show the envelope in Python notation."""
        return f"EventEnvelope({self.event_type!r}, {self.event!r}, {self.meta!r})"


class _Line(msgspec.Struct):
    event_type: str
    event: dict[str, Any]
    meta: dict[str, Any] | None = None


def kafka_meta(record: ConsumerRecord) -> dict[str, Any]:
    """Return the position, key, headers and timestamp of a message as JSON-compatible values."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "key": as_plain(record.key),
        "headers": {name: as_plain(value) for name, value in record.headers},
        "timestamp": record.timestamp,
    }
