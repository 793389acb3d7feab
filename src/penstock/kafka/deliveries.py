"""Delivery results: receipts of acknowledged records, and a report of undelivered ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import partial
from threading import Event, Lock
from typing import Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, Message

from penstock.errors import PenstockError, Undelivered, UndeliveredRecord
from penstock.events.record import Offset, Origin, Partition, Receipt, TopicName
from penstock.kafka.errors import Right, translate
from penstock.kafka.keys import Serde
from penstock.kafka.outbox import NO_EXTRAS, Extras, OnReport, size

Outcome = Receipt | PenstockError
OnDelivery = Callable[[Outcome], None]

KEPT_RECORDS = 100_000
"""Maximum number of undelivered records in a report. Further records are only counted, to limit memory in an outage."""

_EXPLANATION_SECONDS = 1.0
_UNKNOWN_OFFSET = Offset(-1)
_PLAIN = {
    KafkaError._MSG_TIMED_OUT: "the broker did not confirm it in time",  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._PURGE_QUEUE: "the producer was closed before it could be sent",  # noqa: SLF001 - as above
    KafkaError._PURGE_INFLIGHT: "the producer was closed before the broker confirmed it",  # noqa: SLF001 - as above
}
_AFTER_FATAL = {
    KafkaError._FATAL,  # noqa: SLF001 - as above
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 - as above
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001 - as above
}
_log = logging.getLogger(__name__)


class Tombstone(Enum):
    """Type of `TOMBSTONE`, the value that deletes a key from a compacted topic."""

    TOMBSTONE = "tombstone"


TOMBSTONE: Final = Tombstone.TOMBSTONE


def write_right(topic: str) -> Right:
    """Return the right that a producer's user needs."""
    return Right("WRITE", "topic", topic)


def receipt(message: Message) -> Receipt:
    """Return the receipt of an acknowledged message. With acks=0 the broker does not answer, and the offset is -1."""
    offset = message.offset()
    kind, timestamp = message.timestamp()
    origin = Origin(
        TopicName(str(message.topic())),
        Partition(message.partition() or 0),
        _UNKNOWN_OFFSET if offset is None else Offset(offset),
    )
    return Receipt(origin, None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp)


def guarded(on_delivery: OnDelivery) -> OnDelivery:
    """Wrap a user's callback and log its exceptions, so that no further report is lost."""

    def tell(outcome: Outcome) -> None:
        try:
            on_delivery(outcome)
        except Exception:  # noqa: BLE001 - user code may raise anything, and further reports must still arrive
            _log.exception("a delivery callback failed")

    return tell


def settling(future: asyncio.Future[Receipt]) -> OnDelivery:
    """Return a callback that settles the future on its event loop, unless cancelled or the loop has ended."""
    loop = future.get_loop()

    def settle(outcome: Outcome) -> None:
        if future.done():
            return
        if isinstance(outcome, PenstockError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def tell(outcome: Outcome) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, outcome)

    return tell


class Failures:
    """Collects undelivered records without a callback: counts them, logs the first, returns all in one report."""

    def __init__(self, topic: str, key: Serde, value: Serde, user: str = "") -> None:
        self._topic = topic
        self._user = user
        self._key = key
        self._value = value
        self._lock = Lock()
        self._count = 0
        self._records: list[UndeliveredRecord] = []
        self._fatal: KafkaError | None = None
        self._purge_explained = Event()

    def on_report(self, error: KafkaError | None, message: Message, extras: Extras = NO_EXTRAS) -> None:
        """Note a failed message. This is the hot path for delivered messages."""
        if error is not None:
            self._note(self._undelivered(error, message, extras))

    def on_fatal(self, error: KafkaError) -> None:
        """Store the producer's fatal error, the reason why all its messages are purged."""
        self._fatal = error
        self._purge_explained.set()

    def on_purge(self) -> None:
        """Note that no fatal error explains the messages purged from now on."""
        self._purge_explained.set()

    def explain(self, error: KafkaError, tried: str) -> PenstockError:
        """Return the PenstockError for a delivery error, naming the user's missing right.

        Purged records may be reported to a thread shortly before the reason arrives on another; then wait, up to a
        second.
        """
        if error.code() in _AFTER_FATAL:
            self._purge_explained.wait(_EXPLANATION_SECONDS)
            error = self._fatal or error
        plain = KafkaError(error.code(), _PLAIN.get(error.code(), error.str()))
        return translate(plain, tried, needs=[write_right(self._topic)], user=self._user, topic=self._topic)

    def reporter(self, on_delivery: OnDelivery | None, extras: Extras) -> OnReport:
        """Return the delivery callback of a message: `on_delivery`, or this collection if there is none."""
        if on_delivery is None:
            return partial(self.on_report, extras=extras)
        tell = on_delivery

        def report(error: KafkaError | None, message: Message) -> None:
            tell(receipt(message) if error is None else self._undelivered(error, message, extras).reason)

        return report

    def take(self) -> Undelivered | None:
        """Return one error for all failures since the last call, or None."""
        with self._lock:
            count, records = self._count, self._records
            self._count, self._records = 0, []
        if not records:
            return None
        reason = records[0].reason
        what = "1 record was" if count == 1 else f"{count:,} records were"
        return Undelivered(f"{what} not delivered; {reason}", hint=reason.hint, count=count, records=records)

    def _note(self, record: UndeliveredRecord) -> None:
        with self._lock:
            self._count += 1
            first = self._count == 1
            if len(self._records) < KEPT_RECORDS:
                self._records.append(record)
        if first:
            _log.error("records are not delivered; %s (further ones are counted until the next report)", record.reason)

    def _undelivered(self, error: KafkaError, message: Message, extras: Extras) -> UndeliveredRecord:
        """Return the record of a failed message, decoded from its bytes."""
        key, value = message.key(), message.value()
        reason = self.explain(error, f"sending {size(value, key)} to {self._topic}")
        record = UndeliveredRecord(
            topic=self._topic,
            key=None if key is None else self._key.decode(bytes(key)),
            value=TOMBSTONE if value is None else self._value.decode(bytes(value)),
            partition=message.partition(),
            timestamp=extras.get("timestamp"),
            headers=extras.get("headers", ()),
            reason=reason,
        )
        reason.details["record"] = record
        return record
