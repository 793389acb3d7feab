"""An event with its type and where it came from, as filters, transformers and actions get it."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.events.fields import as_plain
from penstock.events.metadata import Event, event_class
from penstock.events.record import ConsumerRecord


class EventEnvelope:
    """`event_type`, `event`, and `meta`, whose `kafka` has topic, partition, offset, key, headers and timestamp.

    `record` is the message as it was read, with the bytes of its key and value; None for an event from a file.
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
        """Where the event came from; made when it is first asked for, since most events are never asked."""
        if self._meta is None:
            self._meta = {} if self.record is None else {"kafka": kafka_meta(self.record)}
        return self._meta

    @meta.setter
    def meta(self, meta: dict[str, Any]) -> None:
        self._meta = meta

    def as_json(self) -> str:
        """The envelope on one line, as DataHub Actions writes it."""
        event_type, meta = (msgspec.json.encode(as_plain(part)).decode() for part in (self.event_type, self.meta))
        return f'{{ "event_type": {event_type}, "event": {self.event.as_json()}, "meta": {meta} }}'

    @classmethod
    def from_json(cls, text: str | bytes) -> EventEnvelope:
        """An envelope from such a line; keys beside the three are left out."""
        line = msgspec.json.decode(text, type=_Line)
        return cls(line.event_type, event_class(line.event_type)(line.event), line.meta or {})

    def __repr__(self) -> str:
        """The envelope as Python shows it."""
        return f"EventEnvelope({self.event_type!r}, {self.event!r}, {self.meta!r})"


class _Line(msgspec.Struct):
    event_type: str
    event: dict[str, Any]
    meta: dict[str, Any] | None = None


def kafka_meta(record: ConsumerRecord) -> dict[str, Any]:
    """A message's place, key, headers and time, as JSON can hold them."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "key": as_plain(record.key),
        "headers": {name: as_plain(value) for name, value in record.headers},
        "timestamp": record.timestamp,
    }
