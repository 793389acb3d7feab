"""Replay of letters to their original topics, once each unless requested again.

A letter and its mark are sent in one transaction: a crash leaves both or neither. All replays share one transactional
id: a new replay fences every earlier one, and only then reads the marks. Two concurrent replays cannot send a letter
twice either.
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
"""Returns the selected letters. Every call reads them again."""


@dataclass(frozen=True)
class Order:
    """Request for a replay: the letters, the target topic (default: each letter's own), and whether to repeat replays.

    `targets` limits the return of letters to their own topics. `key_field` names the field of a JSON value that becomes
    the key of a letter without a key.
    """

    letters: Letters
    targets: Targets = field(default_factory=Targets)
    to: str | None = None
    again: bool = False
    key_field: str | None = None

    def allows(self, letter: DeadLetter) -> bool:
        """Return whether a letter may be sent to its target."""
        return self.to is not None or self.targets.allow(letter)

    def target(self, letter: DeadLetter) -> str:
        """Return the target topic of a letter."""
        return self.to or letter.origin.topic


@dataclass
class Tally:
    """Numbers of letters per target topic, to be sent or already sent, and of skipped letters.

    `before` counts letters of already replayed records, `same` further letters of a record in this replay. `refused`
    counts letters for topics not known to be read by the pipeline, `too_large` letters above the size limit of a topic.
    """

    sent: Counter[str] = field(default_factory=Counter)
    before: int = 0
    same: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    too_large: Counter[str] = field(default_factory=Counter)
    records: set[Origin] = field(default_factory=set, repr=False)

    @property
    def total(self) -> int:
        """Total number of sent letters."""
        return self.sent.total()


def plan_replay(settings: Settings, order: Order) -> Tally:
    """Return the result of a replay without sending. Raise TopicNotFound if a target does not exist."""
    tally, marks = Tally(), read_marks(settings)
    for letter in order.letters():
        _count(tally, letter, order, marks)
    with Admin(settings) as admin:
        cluster = read_cluster(admin)
    for topic in tally.sent:
        cluster.layouts(topic)
    return tally


def replay(settings: Settings, order: Order, on_progress: Callable[[int], None]) -> Tally:
    """Send the letters in transactions of up to 500. Letters committed before an error are sent and marked.

    Letters possibly above the size limit of a topic are sent last, each in a separate transaction, to delay no smaller
    letters.
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
            _send_together(sender, letters, order, tally)
            on_progress(len(letters))
        for letter in order.letters() if large else ():
            if letter.place in large:
                # A file may contain the letter twice.
                large.discard(letter.place)
                _send_alone(sender, letter, order, tally)
                on_progress(1)
    return tally


def _send_together(sender: _Sender, letters: list[DeadLetter], order: Order, tally: Tally) -> None:
    """Send letters in one transaction, or each alone if their topic has a limit below the size of a batch."""
    try:
        sender.send(letters, order)
    except RecordTooLarge:
        sender.reopen()
        for letter in letters:
            _send_alone(sender, letter, order, tally)


def _send_alone(sender: _Sender, letter: DeadLetter, order: Order, tally: Tally) -> None:
    """Send a letter in its own transaction, or count it if it is above the size limit of its topic.

    Compression may make a larger record small enough.
    """
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
    """Sender of letters with their marks. `marks` were read after all earlier replays had lost the right to send."""

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
        """Reconnect and read the marks again. A replay started in between is fenced, and its letters have marks."""
        self._producer.close()
        self._producer = TransactionalProducer(self._settings, _NAME)
        self.marks = read_marks(self._settings)

    def close(self) -> None:
        """Close the producer."""
        self._producer.close()


def _size(letter: DeadLetter) -> int:
    """Return the maximum size of a letter's record in bytes, before compression."""
    headers = sum(len(name) + len(value or b"") + _HEADER_BYTES for name, value in letter.headers)
    return len(letter.key or b"") + len(letter.value or b"") + headers + _RECORD_BYTES


def replayed(letter: DeadLetter, order: Order) -> Outgoing:
    """Return the original record, with the position of its letter in a header."""
    kept = [(name, value) for name, value in letter.own_headers if name != REPLAYED_FROM]
    key = _key(letter.value, order.key_field) if letter.key is None else letter.key
    return Outgoing(order.target(letter), key, letter.value, [*kept, (REPLAYED_FROM, str(letter.place).encode())])


def _key(value: bytes | None, field: str | None) -> bytes | None:
    """Return the text of a field, if the value is a JSON object with the field."""
    try:
        data = json.loads(value) if value and field else None
    except (ValueError, RecursionError):
        return None
    found = data.get(field) if isinstance(data, dict) else None
    return None if found is None else str(found).encode()


def _count(tally: Tally, letter: DeadLetter, order: Order, marks: Marks) -> bool:
    """Count a letter. Return whether to send the letter."""
    if not order.allows(letter):
        tally.refused[order.target(letter)] += 1
        return False
    if letter.record in tally.records:
        tally.same += 1
        return False
    if marks.of(letter) is not None and not order.again:
        tally.before += 1
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
