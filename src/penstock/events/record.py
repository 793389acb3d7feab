"""One record of a topic, as consumers see it, and the ids that name its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, NewType

import msgspec

TopicName = NewType("TopicName", str)
Partition = NewType("Partition", int)
Offset = NewType("Offset", int)
GroupName = NewType("GroupName", str)

Headers = Sequence[tuple[str, bytes | None]]


class Origin(NamedTuple):
    """Where a record stands: written `<topic>/<partition>/<offset>` in headers and messages."""

    topic: TopicName
    partition: Partition
    offset: Offset

    def __str__(self) -> str:
        """Render as `<topic>/<partition>/<offset>`."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the broker confirmed of a record that was sent: its place and its time (milliseconds)."""

    origin: Origin
    timestamp: int | None


class ConsumerRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as it was read; a Struct because making one costs a third of what a dataclass does.

    The value of a tombstone is None, so test `record.value is None`: zeros and empty records are false too.
    """

    key: Any
    value: Any
    headers: Headers
    timestamp: int | None
    topic: TopicName
    partition: Partition
    offset: Offset
    has_schema: bool

    @property
    def origin(self) -> Origin:
        """Where the record stands."""
        return Origin(self.topic, self.partition, self.offset)

    @property
    def time(self) -> datetime | None:
        """The timestamp, which is in milliseconds, as a moment in UTC."""
        return None if self.timestamp is None else datetime.fromtimestamp(self.timestamp / 1000, UTC)
