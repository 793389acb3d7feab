"""One record of a topic, as consumers see it, and the ids that name its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NewType

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
