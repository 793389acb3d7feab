"""Record of a topic as seen by consumers, and the types of its position."""

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
    """Position of a record, written as `<topic>/<partition>/<offset>` in headers and messages."""

    topic: TopicName
    partition: Partition
    offset: Offset

    def __str__(self) -> str:
        """Render as `<topic>/<partition>/<offset>`."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """Broker's confirmation of a sent record: position, and timestamp in milliseconds."""

    origin: Origin
    timestamp: int | None


class ConsumerRecord(msgspec.Struct, frozen=True, gc=False):
    """Record that was read. A Struct, because creating one costs a third of creating a dataclass.

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
        """Position of the record."""
        return Origin(self.topic, self.partition, self.offset)

    @property
    def time(self) -> datetime | None:
        """Timestamp as a datetime in UTC. `timestamp` itself is in milliseconds."""
        return None if self.timestamp is None else datetime.fromtimestamp(self.timestamp / 1000, UTC)
