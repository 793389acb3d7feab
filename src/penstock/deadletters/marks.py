"""Which letters were replayed: a mark for each on a compacted topic, written in one transaction with the replay."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.config import Settings
from penstock.deadletters.letter import DeadLetter
from penstock.events.record import Origin, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topic_ids import topic_ids
from penstock.kafka.topics import ensure_topic
from penstock.kafka.transactions import Outgoing

TOPIC = "penstock.replays"

_SETTINGS = {"cleanup.policy": "compact"}


@dataclass(frozen=True)
class Mark:
    """The last replay of a letter: where to, when, and which one it was."""

    to: str
    at: str
    times: int


@dataclass(frozen=True)
class Marks:
    """The marks of all letters; a topic that was made anew has another id, so its letters have no marks yet."""

    ids: Mapping[TopicName, str]
    found: Mapping[str, Mark]

    def of(self, letter: DeadLetter) -> Mark | None:
        """The last replay of a letter, or None before the first."""
        return self.found.get(self.key(letter.place))

    def key(self, place: Origin) -> str:
        """What the mark of a letter is found by."""
        return f"{place}@{self.ids.get(place.topic, '')}"

    def next(self, letter: DeadLetter, to: str, now: str) -> Outgoing:
        """The record that marks a letter as replayed once more."""
        before = self.of(letter)
        data = {"to": to, "at": now, "times": before.times + 1 if before else 1}
        return Outgoing(TOPIC, self.key(letter.place).encode(), json.dumps(data).encode(), [])


def prepare_marks(settings: Settings) -> None:
    """Make the topic of the marks unless it is there."""
    ensure_topic(settings, TOPIC, partitions=1, config=_SETTINGS)


def read_marks(settings: Settings, topics: Collection[str]) -> Marks:
    """All marks that are there now, to be looked up for letters of these topics."""
    with Admin(settings) as admin:
        known = read_cluster(admin).topics
        ids = topic_ids(admin, [topic for topic in known if topic in topics])
    if TOPIC not in known:
        return Marks(ids, {})
    marks = read_span(settings, find_span(settings, [TOPIC]))
    return Marks(ids, {record.key.decode(): Mark(**json.loads(record.value)) for record in marks})
