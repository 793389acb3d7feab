"""Transactional producer: records for several topics appear together or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Handle

from penstock.config import Settings
from penstock.errors import KafkaRefused, PenstockError
from penstock.kafka.errors import Right, translate
from penstock.kafka.outbox import LOGGER, HeaderPairs
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options
from penstock.kafka.topics import MAX_LETTER_BYTES
from penstock.kafka.watch import ConnectionWatch

_FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}  # noqa: SLF001 - librdkafka's own codes start with _
_POLL_SECONDS = 0.05
_DELIVERY_SECONDS = 30.0
"""Less than the minute after which a broker aborts a transaction."""

_BATCH_BYTES = 64 * 1024
"""A topic limits batches, not records: a topic for small records would reject a large batch of them."""


class Outgoing(NamedTuple):
    """A record to send: bytes, with topic and headers."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: HeaderPairs


class TransactionalProducer:
    """Sends records in transactions: readers of committed records see all of a transaction, or nothing.

    A new producer aborts the open transaction of an earlier producer with the same name, and fences the earlier
    producer. If two are started by mistake, the later producer wins and the earlier producer fails with KafkaRefused.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        self._name = name
        self._timeout = settings.timeout
        self._user = str(settings.kafka.get("sasl.username", ""))
        self._watch = ConnectionWatch()
        forced = {
            "acks": "all",
            "enable.idempotence": True,
            "transactional.id": name,
            # The topic decides how large a record may be.
            "message.max.bytes": MAX_LETTER_BYTES,
        }
        options = librdkafka_options(
            settings,
            ProducerOptions(delivery_timeout=_DELIVERY_SECONDS, batch_bytes=_BATCH_BYTES),
            JAVA_PARTITIONER,
            forced,
        )
        with self._told("beginning"):
            self._handle = Handle({**options, "error_cb": self._watch, "logger": LOGGER})
            self._handle.init_transactions(self._timeout)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the block's records at its end. Any error in the block aborts the transaction."""
        with self._told("sending"):
            self._handle.begin_transaction()
        try:
            yield
            with self._told("committing"):
                self._handle.commit_transaction(self._timeout)
        except BaseException:
            with suppress(KafkaException):
                self._handle.abort_transaction(self._timeout)
            raise

    def send(self, record: Outgoing) -> None:
        """Send a record within a transaction. If the buffer is full, wait for room."""
        with self._told(f"sending to {record.topic}", Right("WRITE", "topic", record.topic)):
            while True:
                try:
                    self._handle.produce(record.topic, record.value, record.key, headers=record.headers)
                except BufferError:
                    self._handle.poll(_POLL_SECONDS)
                else:
                    return

    def close(self) -> None:
        """Close the handle. Every transaction was already committed or aborted."""
        # `close` raises an error of librdkafka's own threads as SystemError.
        with suppress(KafkaException, SystemError):
            self._handle.close()

    @contextmanager
    def _told(self, tried: str, *needs: Right) -> Iterator[None]:
        try:
            yield
        except KafkaException as failure:
            raise self._explained(failure.args[0], tried, needs) from failure

    def _explained(self, failure: KafkaError, tried: str, needs: tuple[Right, ...]) -> PenstockError:
        error = self._watch.explained(failure)
        if error.code() in _FENCED:
            return KafkaRefused(
                f"{tried}: another {self._name} began after this one, which may send no more",
                hint="what was committed is there once; look what is left, and begin again",
            )
        rights = (*needs, Right("WRITE", "transactional-id", self._name))
        return translate(error, tried, needs=rights, user=self._user)
