"""Buffer of fetched messages, not yet given to the caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from time import monotonic
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import PenstockError, Transient
from penstock.events.record import Origin
from penstock.kafka.errors import Right, translate
from penstock.kafka.offsets import PartitionId, partition_id
from penstock.kafka.session import Session

_SERVE_SECONDS = 0.5
_COMMITTED_SECONDS = 10.0
_PASSING = {
    KafkaError._PARTITION_EOF,  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001 - as above; the partitions are reported as lost as well
}


class Fetcher:
    """Ordered buffer of fetched messages. Errors that librdkafka reports become failures of the session.

    `fallback` is the logical offset at which a group without committed offsets starts.
    """

    def __init__(self, session: Session, fallback: int) -> None:
        self._session = session
        self._handle = session.handle
        self._fallback = fallback
        self._messages: deque[Message] = deque()
        self._torn = False
        self._polled_at = monotonic()

    def __len__(self) -> int:
        """Return the number of buffered messages."""
        return len(self._messages)

    def fetch(self, size: int, wait: float) -> None:
        """Wait for a message, then take further available messages, up to `size`."""
        self._poll(1, wait)
        if self._messages and size > 1:
            self._poll(size - 1, 0)

    def serve(self) -> None:
        """Let librdkafka call back when due, although messages are buffered; one more message may arrive.

        Errors precede their callbacks in librdkafka's queue, so polling continues past errors.
        """
        if monotonic() - self._polled_at >= _SERVE_SECONDS:
            left = len(self._messages)
            while self._poll(1, 0) and len(self._messages) == left:
                pass

    def keep(self, message: Message) -> None:
        """Buffer a message, or handle the error reported in place of a message."""
        error = message.error()
        if error is None:
            self._messages.append(message)
        elif failure := self._trouble(error, message.topic() or ""):
            self._session.failures.append(failure)

    def head(self, size: int) -> Iterable[Message]:
        """Return the next messages without removing them."""
        return islice(self._messages, size)

    def next_origin(self) -> Origin:
        """Return the origin of the next message."""
        message: Any = self._messages[0]
        return Origin(message.topic(), message.partition(), message.offset())

    def advance(self, count: int) -> None:
        """Remove the first `count` messages after they were given out."""
        if count == len(self._messages):
            self._messages.clear()
        for _ in range(min(count, len(self._messages))):
            self._messages.popleft()

    def drop(self, partitions: Iterable[PartitionId]) -> None:
        """Remove messages of partitions that may have a new owner."""
        gone = set(partitions)
        kept = [message for message in self._messages if (message.topic(), message.partition()) not in gone]
        self._messages.clear()
        self._messages.extend(kept)

    def tear(self) -> None:
        """Note that Ctrl-C interrupted a fetch: librdkafka counts its messages as read and has to seek back."""
        self._messages.clear()
        self._torn = True

    def _poll(self, size: int, wait: float) -> int:
        self._polled_at = monotonic()
        if self._torn:
            self._rewind()
        messages = self._handle.consume(size, wait)
        for message in messages:
            self.keep(message)
        return len(messages)

    def _rewind(self) -> None:
        """Seek to the first message not yet given to the caller, or else to the group's committed offset."""
        assigned = {partition_id(place): place for place in self._handle.assignment()}
        given = {partition: self._session.progress.given(partition) for partition in assigned}
        untouched = [assigned[partition] for partition, offset in given.items() if offset is None]
        for partition, offset in given.items():
            if offset is not None:
                self._seek(TopicPartition(*partition, offset))
        for place in self._handle.committed(untouched, _COMMITTED_SECONDS) if untouched else []:
            self._seek(place if place.offset >= 0 else TopicPartition(place.topic, place.partition, self._fallback))
        self._torn = False

    def _seek(self, place: TopicPartition) -> None:
        try:
            self._handle.seek(place)
        except KafkaException as failure:
            nothing_fetched_yet = failure.args[0].code() == KafkaError._STATE  # noqa: SLF001 - as above
            if not nothing_fetched_yet:
                raise translate(failure.args[0], f"going back in {partition_id(place)}") from failure

    def _trouble(self, error: KafkaError, topic: str) -> PenstockError | None:
        """Return the PenstockError for an error, or None if librdkafka recovers by itself."""
        group, user = self._session.group, self._session.user
        group_refused = error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
        if error.code() in _PASSING or (group_refused and group is None):
            return None
        needs = [Right("READ", "topic", topic), Right("READ", "group", group or "")]
        tried = f"reading {topic or 'from Kafka'}"
        failure = translate(error, tried, needs=needs, user=user, topic=topic, group=group)
        return None if isinstance(failure, Transient) else failure
