"""Marks of replayed records: one per record, on a compacted topic, written in the transaction of the replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.config import Settings
from penstock.deadletters.letter import DeadLetter
from penstock.events.record import TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import is_internal, read_cluster
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topic_ids import topic_ids
from penstock.kafka.topics import ensure_topic
from penstock.kafka.transactions import Outgoing

TOPIC = "penstock.replays"

_SETTINGS = {"cleanup.policy": "compact"}


@dataclass(frozen=True)
class Mark:
    """Last replay of a record: target topic, time, and number of replays so far."""

    to: str
    at: str
    times: int


@dataclass(frozen=True)
class Marks:
    """Marks of all records. A recreated topic has a new id, so its records start without marks."""

    ids: Mapping[TopicName, str]
    found: Mapping[str, Mark]

    def of(self, letter: DeadLetter) -> Mark | None:
        """Return the last replay of a letter's record, or None if never replayed."""
        return self.found.get(self.key(letter))

    def key(self, letter: DeadLetter) -> str:
        """Return the key of a letter's mark. All letters of one record share the mark."""
        return f"{letter.record}@{self.ids.get(letter.record.topic, '')}"

    def next(self, letter: DeadLetter, to: str, now: str) -> Outgoing:
        """Return the record that marks a letter as replayed once more."""
        before = self.of(letter)
        data = {"to": to, "at": now, "times": before.times + 1 if before else 1}
        return Outgoing(TOPIC, self.key(letter).encode(), json.dumps(data).encode(), [])


def prepare_marks(settings: Settings) -> None:
    """Create the topic of the marks if it does not exist."""
    ensure_topic(settings, TOPIC, partitions=1, config=_SETTINGS)


def read_marks(settings: Settings) -> Marks:
    """Return all current marks."""
    with Admin(settings) as admin:
        topics = [topic for topic in read_cluster(admin).topics if not is_internal(topic)]
        ids = topic_ids(admin, topics)
    if TOPIC not in ids:
        return Marks(ids, {})
    marks = read_span(settings, find_span(settings, [TOPIC]))
    return Marks(ids, {record.key.decode(): Mark(**json.loads(record.value)) for record in marks})
