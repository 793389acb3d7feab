"""Topics allowed as targets of a replay: topics read by the letter's pipeline.

A letter names its own target, and anyone with write access to a dead-letter topic can name any topic.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.config import Settings
from penstock.deadletters.box import SUFFIXES
from penstock.deadletters.letter import DeadLetter
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.heartbeat import TOPIC as HEARTBEATS
from penstock.kafka.span import find_span, read_span

_COLLECTOR = "collector"


@dataclass(frozen=True)
class Targets:
    """Topics that pipelines are known to read, by pipeline, and topics named by a person."""

    known: Mapping[str, Collection[str]] = field(default_factory=dict)
    named: Collection[str] = ()
    any_topic: bool = False

    def allow(self, letter: DeadLetter) -> bool:
        """Return whether a letter may be sent to its original topic."""
        topic = letter.origin.topic
        return (
            self.any_topic
            or topic in self.named
            or topic in self.known.get(letter.pipeline, ())
            or letter.place.topic in {f"{topic}{suffix}" for suffix in SUFFIXES}
        )


def find_targets(settings: Settings, *, named: Collection[str] = (), any_topic: bool = False) -> Targets:
    """Return the topics read by each pipeline, according to heartbeats and the collector's settings."""
    collector = settings.collector.get("topics", {})
    known = _known_by_heartbeats(settings)
    known[_COLLECTOR] = {*known.get(_COLLECTOR, ()), *(collector if isinstance(collector, Mapping) else ())}
    return Targets(known, named, any_topic)


def _known_by_heartbeats(settings: Settings) -> dict[str, set[str]]:
    with Admin(settings) as admin:
        if HEARTBEATS not in read_cluster(admin).topics:
            return {}
    known: dict[str, set[str]] = {}
    for record in read_span(settings, find_span(settings, [HEARTBEATS])):
        pipeline, topics = _read_by(record.value)
        known.setdefault(pipeline, set()).update(topics)
    return known


def _read_by(heartbeat: Any) -> tuple[str, Collection[str]]:  # noqa: ANN401 - whatever is in the topic
    """Return the pipeline of a heartbeat, and the topics with a position."""
    try:
        data = json.loads(heartbeat or b"{}")
    except (ValueError, RecursionError):
        return "", ()
    position = data.get("position") if isinstance(data, dict) else None
    return (str(data.get("pipeline", "")), position.keys()) if isinstance(position, dict) else ("", ())
