"""Position of a query: the next offset of each partition, and the ids of the topics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId, nested


@dataclass(frozen=True)
class Position:
    """Next offset to read in each partition. A recreated topic has a new id and restarted offsets."""

    offsets: Offsets
    topic_ids: Mapping[TopicName, str]

    def advanced(self, offsets: Offsets, topic_ids: Mapping[TopicName, str]) -> Position:
        """Return the position with advanced partitions and newly found topics."""
        return Position({**self.offsets, **offsets}, {**self.topic_ids, **topic_ids})

    def as_data(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"offsets": nested(self.offsets), "topic_ids": dict(self.topic_ids)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Position:
        """Create a position from the result of `as_data`."""
        return cls(flat(data["offsets"]), {TopicName(topic): topic_id for topic, topic_id in data["topic_ids"].items()})


NOWHERE: Final = Position({}, {})
"""The position of a query that has read nothing."""


def same_topics(landed: Position, now: Position) -> Offsets:
    """Return the landed offsets of topics in `now`; skip recreated topics, whose ids differ."""
    ids = now.topic_ids
    return {place: offset for place, offset in landed.offsets.items() if ids.get(place.topic) == _id(landed, place)}


def with_absent(now: Position, landed: Position) -> Position:
    """Return `now` plus topics found only in `landed`, which a query stopped reading and may resume."""
    absent = {place: offset for place, offset in landed.offsets.items() if place.topic not in now.topic_ids}
    return Position({**absent, **now.offsets}, {**landed.topic_ids, **now.topic_ids})


def furthest(landed: Position, now: Position) -> Position:
    """Return the larger offset of each partition, including topics found only in `landed`."""
    same = same_topics(landed, now)
    reached = {place: max(offset, same.get(place, offset)) for place, offset in now.offsets.items()}
    return with_absent(Position({**same, **reached}, now.topic_ids), landed)


def _id(position: Position, place: PartitionId) -> str | None:
    return position.topic_ids.get(place.topic)


def flat(data: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the offsets in Spark's JSON data."""
    return {
        PartitionId(TopicName(topic), Partition(int(partition))): Offset(offset)
        for topic, partitions in data.items()
        for partition, offset in partitions.items()
    }


def spark_json(offsets: Mapping[PartitionId, Offset]) -> str:
    """Return offsets as text for Spark's Kafka source."""
    return json.dumps(nested(offsets))


def distance(start: Offsets, end: Offsets) -> int:
    """Return the number of offsets between two positions; compacted topics have fewer records."""
    return sum(max(offset - start.get(partition, Offset(0)), 0) for partition, offset in end.items())
