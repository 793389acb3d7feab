"""Sending letters back to where they came from, each once unless it is wanted again.

A letter and its mark are sent in one transaction, so that after a crash either both are there or neither. Every replay
has the same name for Kafka: one that begins takes the right to send from any before it, and only then looks which
letters are marked. So two replays at the same time cannot send a letter twice either.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial

from penstock.config import Settings
from penstock.deadletters.letter import DeadLetter
from penstock.deadletters.marks import Marks, prepare_marks, read_marks
from penstock.deadletters.targets import Targets
from penstock.errors import RecordTooLarge
from penstock.events.dead_letter import told_time
from penstock.events.record import Origin
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.configs import record_limit
from penstock.kafka.transactions import Outgoing, TransactionalProducer

REPLAYED_FROM = "penstock.replayed_from"

_NAME = "penstock.replay"
_AT_ONCE = 500
_BYTES_AT_ONCE = 16 * 1024 * 1024
_RECORD_BYTES, _HEADER_BYTES = 128, 12

Letters = Callable[[], Iterator[DeadLetter]]
"""The letters meant, read anew by each call."""


@dataclass(frozen=True)
class Order:
    """What is wanted: the letters, the topic that they go to (else each its own), and whether once more.

    `targets` says which topics of their own letters may go to. `key_field` names the field of a JSON value that is the
    key of a letter without one.
    """

    letters: Letters
    targets: Targets = field(default_factory=Targets)
    to: str | None = None
    again: bool = False
    key_field: str | None = None

    def allows(self, letter: DeadLetter) -> bool:
        """Whether a letter may go where it is to go."""
        return self.to is not None or self.targets.allow(letter)

    def target(self, letter: DeadLetter) -> str:
        """The topic that a letter goes to."""
        return self.to or letter.origin.topic


@dataclass
class Tally:
    """How many letters go, or went, to each topic, and how many were left out.

    `before` counts those whose record was replayed before, `same` those whose record goes with another letter,
    `refused` those that name a topic which their pipeline is not known to read, and `too_large` those that are larger
    than their topic allows.
    """

    sent: Counter[str] = field(default_factory=Counter)
    before: int = 0
    same: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    too_large: Counter[str] = field(default_factory=Counter)
    records: set[Origin] = field(default_factory=set, repr=False)

    @property
    def total(self) -> int:
        """How many in all."""
        return self.sent.total()


def plan_replay(settings: Settings, order: Order) -> Tally:
    """What a replay would do now; TopicNotFound names a target that is not there."""
    tally, marks = Tally(), read_marks(settings)
    for letter in order.letters():
        _count(tally, letter, order, marks)
    with Admin(settings) as admin:
        cluster = read_cluster(admin)
    for topic in tally.sent:
        cluster.layouts(topic)
    return tally


def replay(settings: Settings, order: Order, on_progress: Callable[[int], None]) -> Tally:
    """Send the letters, some hundred in a transaction; what was committed before an error is sent and marked.

    Letters that may be too large for their topic come last and alone, so that they hold up no others.
    """
    prepare_marks(settings)
    tally, large = Tally(), set[Origin]()
    limit = cache(partial(record_limit, settings))

    def small(letters: Iterable[DeadLetter]) -> Iterator[DeadLetter]:
        for letter in letters:
            if _size(letter) <= limit(order.target(letter)):
                yield letter
            else:
                large.add(letter.place)

    with closing(_Sender(settings)) as sender:
        wanted = (letter for letter in order.letters() if _count(tally, letter, order, sender.marks))
        for letters in _some_at_a_time(small(wanted)):
            sender.send(letters, order)
            on_progress(len(letters))
        for letter in order.letters() if large else ():
            if letter.place in large:
                _send_large(sender, letter, order, tally)
                on_progress(1)
    return tally


def _send_large(sender: _Sender, letter: DeadLetter, order: Order, tally: Tally) -> None:
    """Send a letter that its topic takes only if it is small enough once compressed."""
    if sender.marks.of(letter) is not None and not order.again:
        tally.sent[order.target(letter)] -= 1
        tally.before += 1
        return
    try:
        sender.send([letter], order)
    except RecordTooLarge:
        tally.sent[order.target(letter)] -= 1
        tally.too_large[order.target(letter)] += 1
        # librdkafka's sequence numbers are out of order after a rejected record.
        sender.reopen()


class _Sender:
    """Sends letters with their marks. `marks` were read after all earlier replays had lost the right to send."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = TransactionalProducer(settings, _NAME)
        self.marks = read_marks(settings)

    def send(self, letters: list[DeadLetter], order: Order) -> None:
        """Send letters in one transaction."""
        now = told_time(datetime.now(UTC))
        with self._producer.transaction():
            for letter in letters:
                self._producer.send(replayed(letter, order))
                self._producer.send(self.marks.next(letter, order.target(letter), now))

    def reopen(self) -> None:
        """Begin again: a replay that began meanwhile loses the right to send, and what it sent is marked."""
        self._producer.close()
        self._producer = TransactionalProducer(self._settings, _NAME)
        self.marks = read_marks(self._settings)

    def close(self) -> None:
        """Close the producer."""
        self._producer.close()


def _size(letter: DeadLetter) -> int:
    """How many bytes a letter's record has before it is compressed, at most."""
    headers = sum(len(name) + len(value or b"") + _HEADER_BYTES for name, value in letter.headers)
    return len(letter.key or b"") + len(letter.value or b"") + headers + _RECORD_BYTES


def replayed(letter: DeadLetter, order: Order) -> Outgoing:
    """The record as it was before it was refused, with the place of its letter in a header."""
    kept = [(name, value) for name, value in letter.own_headers if name != REPLAYED_FROM]
    key = _key(letter.value, order.key_field) if letter.key is None else letter.key
    return Outgoing(order.target(letter), key, letter.value, [*kept, (REPLAYED_FROM, str(letter.place).encode())])


def _key(value: bytes | None, field: str | None) -> bytes | None:
    """The field's text, where the value is a JSON object that has it."""
    try:
        data = json.loads(value) if value and field else None
    except (ValueError, RecursionError):
        return None
    found = data.get(field) if isinstance(data, dict) else None
    return None if found is None else str(found).encode()


def _count(tally: Tally, letter: DeadLetter, order: Order, marks: Marks) -> bool:
    """Whether a letter is to be sent."""
    if not order.allows(letter):
        tally.refused[order.target(letter)] += 1
        return False
    if marks.of(letter) is not None and not order.again:
        tally.before += 1
        return False
    if letter.record in tally.records:
        tally.same += 1
        return False
    tally.records.add(letter.record)
    tally.sent[order.target(letter)] += 1
    return True


def _some_at_a_time(letters: Iterable[DeadLetter]) -> Iterator[list[DeadLetter]]:
    some: list[DeadLetter] = []
    size = 0
    for letter in letters:
        some.append(letter)
        size += len(letter.value or b"")
        if len(some) == _AT_ONCE or size > _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some
