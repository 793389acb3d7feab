"""Dead-letter topics and their letters."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from penstock.config import Settings
from penstock.deadletters.letter import DeadLetter, as_letter
from penstock.errors import LetterNotFound
from penstock.events.record import Origin
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.span import Span, find_span, read_span

SUFFIXES = (".dead", ".dlq", "-dlq")


@dataclass(frozen=True)
class Wanted:
    """Selection of letters. Criteria that are None match every letter.

    `place` is the position of the letter or of the original record. `code` includes all codes below: `record` also
    selects `record.invalid`.
    """

    place: Origin | None = None
    pipeline: str | None = None
    code: str | None = None
    topic: str | None = None
    since: datetime | None = None

    def matches(self, letter: DeadLetter) -> bool:
        """Return whether a letter is selected."""
        return (
            self.place in {None, letter.place, letter.origin}
            and self.pipeline in {None, letter.pipeline}
            and (self.code is None or letter.code == self.code or letter.code.startswith(f"{self.code}."))
            and self.topic in {None, letter.origin.topic}
            and (self.since is None or letter.time is None or letter.time >= self.since)
        )


def find_topics(settings: Settings, named: Collection[str] = ()) -> list[str]:
    """Return the named topics, or else the collector's dead-letter topic and all topics with a dead-letter suffix."""
    with Admin(settings) as admin:
        cluster = read_cluster(admin)
    if named:
        for topic in named:
            cluster.layouts(topic)
        return sorted(named)
    ours = settings.collector.get("dead_letters")
    return [topic for topic in cluster.topics if topic.endswith(SUFFIXES) or topic == ours]


def find_letters(settings: Settings, topics: Collection[str], wanted: Wanted) -> Span:
    """Return the current range of the topics that can contain selected letters."""
    if wanted.place and wanted.place.topic in topics:
        topics = [wanted.place.topic]
    return find_span(settings, topics, wanted.since or "earliest")


def read_letters(settings: Settings, span: Span, wanted: Wanted) -> Iterator[DeadLetter]:
    """Yield the selected letters, in order within each partition. Records without a letter's headers are skipped."""
    for record in read_span(settings, span):
        letter = as_letter(record)
        if letter is not None and wanted.matches(letter):
            yield letter


def find_one(settings: Settings, topics: Collection[str], wanted: Wanted) -> DeadLetter:
    """Return the first selected letter. Raise LetterNotFound if none exists."""
    for letter in read_letters(settings, find_letters(settings, topics, wanted), wanted):
        return letter
    raise LetterNotFound(
        f"there is no dead letter {wanted.place}", hint="`penstock deadletters list` shows what is there"
    )
