"""How far a query has come: the next offset in each partition, and the ids of the topics these offsets belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId, nested


@dataclass(frozen=True)
class Position:
    """The next offset to read in each partition; a topic made anew has another id, and its offsets begin again."""

    offsets: Offsets
    topic_ids: Mapping[TopicName, str]

    def advanced(self, offsets: Offsets, topic_ids: Mapping[TopicName, str]) -> Position:
        """The same with partitions moved on, and the topics that came in between."""
        return Position({**self.offsets, **offsets}, {**self.topic_ids, **topic_ids})

    def as_data(self) -> dict[str, Any]:
        """As plain data, which JSON can hold."""
        return {"offsets": nested(self.offsets), "topic_ids": dict(self.topic_ids)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Position:
        """From what `as_data` gave."""
        return cls(flat(data["offsets"]), {TopicName(topic): topic_id for topic, topic_id in data["topic_ids"].items()})


NOWHERE: Final = Position({}, {})
"""The position before anything was read."""


def same_topics(landed: Position, now: Position) -> Offsets:
    """Return what has landed of the topics of `now`; a recreated topic has another id and starts over."""
    ids = now.topic_ids
    return {place: offset for place, offset in landed.offsets.items() if ids.get(place.topic) == _id(landed, place)}


def with_absent(now: Position, landed: Position) -> Position:
    """Return `now` with the topics that only `landed` has: those that a query stopped to read, and may read again."""
    absent = {place: offset for place, offset in landed.offsets.items() if place.topic not in now.topic_ids}
    return Position({**absent, **now.offsets}, {**landed.topic_ids, **now.topic_ids})


def furthest(landed: Position, now: Position) -> Position:
    """Return the larger offset of each partition, also of topics that only `landed` has."""
    same = same_topics(landed, now)
    reached = {place: max(offset, same.get(place, offset)) for place, offset in now.offsets.items()}
    return with_absent(Position({**same, **reached}, now.topic_ids), landed)


def _id(position: Position, place: PartitionId) -> str | None:
    return position.topic_ids.get(place.topic)


def flat(data: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Offsets from Spark's JSON."""
    return {
        PartitionId(TopicName(topic), Partition(int(partition))): Offset(offset)
        for topic, partitions in data.items()
        for partition, offset in partitions.items()
    }


def spark_json(offsets: Mapping[PartitionId, Offset]) -> str:
    """Offsets as the text that Spark's Kafka source takes."""
    return json.dumps(nested(offsets))


def distance(start: Offsets, end: Offsets) -> int:
    """How many offsets lie between two positions; compacted topics have fewer records than that."""
    return sum(max(offset - start.get(partition, Offset(0)), 0) for partition, offset in end.items())
