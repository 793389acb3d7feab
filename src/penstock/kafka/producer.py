"""Producer: validates records before sending, and reports every undelivered record."""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections.abc import Mapping
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, Unpack

from penstock.config import Settings
from penstock.errors import OperationTimedOut, PenstockError, Undelivered, UndeliveredRecord, UsageError
from penstock.events.record import Receipt
from penstock.kafka.deliveries import TOMBSTONE, Failures, OnDelivery, Outcome, guarded, settling
from penstock.kafka.envelope import Envelope, Headers, Timestamp, extras
from penstock.kafka.errors import Right
from penstock.kafka.keys import KeyType, key_serde
from penstock.kafka.options import choose_settings
from penstock.kafka.outbox import ANY_PARTITION, Outbox
from penstock.kafka.partitioner import PartitionChooser, Partitioner
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options
from penstock.kafka.serdes import SchemaSerdes, SchemaSource, Serializer, check_one_source, own_serde
from penstock.kafka.topic_lookup import TopicLookup
from penstock.kafka.watch import ConnectionWatch
from penstock.schemas import IdWidth, SchemaRegistry, connect_registry
from penstock.schemas.registry import Version

_log = logging.getLogger(__name__)


class Producer:
    """Sends records of one schema to one topic. Any number of threads can share a producer.

    Values have a schema (`schema`, or the registered `subject` and `version`), or a `serializer` of your own. Keys are
    of `key_type`, or Avro with `key_schema`. `partitioner` is the name of a librdkafka partitioner, by default that of
    the Java client, or your own function of the key's bytes and the number of partitions. `ProducerOptions` lists all
    other named options; `options` are passed to librdkafka. `Envelope` lists the metadata for a value (`key`,
    `partition`, `timestamp`, `headers`).

    The constructor connects and raises BrokerUnavailable, TopicNotFound, RegistryUnavailable, SchemaIncompatible and
    the like, within the settings' timeout. Use a producer as a context manager, or call `close`, to know that all
    records were delivered. A producer left open is closed when the program ends, and logs undelivered records.
    """

    def __init__(
        self,
        topic: str,
        schema: SchemaSource | None = None,
        *,
        subject: str | None = None,
        version: Version = "latest",
        serializer: Serializer | None = None,
        register: bool = True,
        key_type: KeyType = "string",
        key_schema: SchemaSource | None = None,
        partitioner: str | Partitioner = JAVA_PARTITIONER,
        buffer_timeout: float = 60.0,
        settings: Settings | None = None,
        bootstrap: str | None = None,
        registry: str | SchemaRegistry | None = None,
        options: Mapping[str, Any] | None = None,
        **named: Unpack[ProducerOptions],
    ) -> None:
        check_one_source(schema, subject, serializer)
        self.topic = topic
        self.undelivered: tuple[UndeliveredRecord, ...] = ()
        url, client = (registry, None) if isinstance(registry, str) else (None, registry)
        self._settings = choose_settings(settings, bootstrap=bootstrap, registry=url)
        own_partitioner = None if isinstance(partitioner, str) else partitioner
        named_partitioner = partitioner if isinstance(partitioner, str) else JAVA_PARTITIONER
        handle_options = librdkafka_options(self._settings, named, named_partitioner, options or {})
        self._delivery_timeout = handle_options["delivery.timeout.ms"] / 1000
        width = IdWidth(self._settings.schema_ids)
        serdes = SchemaSerdes(client or connect_registry(self._settings), width, topic, register=register)
        values = own_serde(serializer) if serializer else serdes.values(schema, subject, version)
        keys = key_serde(key_type) if key_schema is None else serdes.keys(key_schema)
        self._encode, self._encode_key = values.encode, keys.encode
        self._failures = Failures(topic, keys, values, str(self._settings.kafka.get("sasl.username", "")))
        self._connect(handle_options, own_partitioner, buffer_timeout)

    def send(self, value: object, **envelope: Unpack[Envelope]) -> None:
        """Send without waiting. Undelivered records are logged once, and reported by `flush` and `close`."""
        self._send(value, None, **envelope)

    def send_sync(self, value: object, **envelope: Unpack[Envelope]) -> Receipt:
        """Send and wait for the acknowledgement. If no other method is used, set linger_ms=0 to avoid the delay."""
        told: SimpleQueue[Outcome] = SimpleQueue()
        self._send(value, told.put, **envelope)
        outcome = told.get()
        if isinstance(outcome, PenstockError):
            raise outcome
        return outcome

    def send_async(self, value: object, *, on_delivery: OnDelivery, **envelope: Unpack[Envelope]) -> None:
        """Send, and call `on_delivery` with the receipt or the error.

        The callback runs on the producer's own thread, which serves all reports: it should be quick and must not block.
        """
        self._send(value, guarded(on_delivery), **envelope)

    def send_awaitable(self, value: object, **envelope: Unpack[Envelope]) -> asyncio.Future[Receipt]:
        """Send, and return a future of the receipt. Many records can be sent first and awaited together.

        A full buffer blocks the event loop for at most `buffer_timeout` seconds; with 0, BufferFull is raised at once.
        """
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._send(value, settling(future), **envelope)
        return future

    def tombstone(self, key: object, *, partition: int | None = None, headers: Headers | None = None) -> None:
        """Delete a key from a compacted topic. To get a receipt, send `TOMBSTONE` with another method."""
        if key is None:
            raise UsageError("a tombstone needs the key that it deletes")
        self._send(TOMBSTONE, None, key=key, partition=partition, headers=headers)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until every record is acknowledged or has failed. Undelivered has the failed records of `send`.

        Failures reported by a callback, an awaitable or `send_sync` are not reported again.
        """
        seconds = self._delivery_timeout if timeout is None else timeout
        waiting = self._outbox.flush(seconds)
        self._report()
        if waiting:
            raise OperationTimedOut(
                f"{waiting:,} records for {self.topic} are not confirmed after {seconds:g} s",
                hint="they are still being sent: flush again, or close to give them up",
            )

    def close(self, timeout: float | None = None) -> None:
        """Flush and disconnect. Records not acknowledged by then are given up, and reported as by `flush`.

        The default timeout is `delivery_timeout`.
        """
        atexit.unregister(self._close_forgotten)
        self._outbox.close(self._delivery_timeout if timeout is None else timeout)
        self._report()

    def __enter__(self) -> Self:
        """Use as a context manager, which closes the producer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, also after an error. If records were not delivered, add a note to the original error."""
        try:
            self.close()
        except Undelivered as report:
            if error is None:
                raise
            error.add_note(report.message)

    def _send(
        self,
        value: object,
        on_delivery: OnDelivery | None,
        *,
        key: object = None,
        partition: int | None = None,
        timestamp: Timestamp | None = None,
        headers: Headers | None = None,
    ) -> None:
        data = None if value is TOMBSTONE else self._encode(value)
        key_data = None if key is None else self._encode_key(key)
        if partition is None:
            partition = self._choose(key_data) if self._choose else ANY_PARTITION
        elif partition < 0:
            raise UsageError(f"{self.topic} has no partition {partition}", hint="leave it out to have one chosen")
        if on_delivery is None and timestamp is None and headers is None:
            self._outbox.put(data, key_data, partition)
            return
        around = extras(timestamp, headers)
        self._outbox.put(data, key_data, partition, self._failures.reporter(on_delivery, around), around)

    def _connect(self, options: Mapping[str, Any], partitioner: Partitioner | None, buffer_timeout: float) -> None:
        watch = ConnectionWatch()
        handle_options = {**options, "error_cb": watch}
        self._outbox = Outbox(self.topic, handle_options, reports=self._failures, buffer_timeout=buffer_timeout)
        lookup = TopicLookup(self._outbox.handle, self.topic, self._settings, watch)
        try:
            lookup.partition_count(Right("WRITE (or CREATE, if it is missing)", "topic", self.topic))
        except PenstockError:
            self._outbox.close(0)
            raise
        self._choose = partitioner and PartitionChooser(partitioner, lookup.partition_count)
        atexit.register(self._close_forgotten)

    def _report(self) -> None:
        report = self._failures.take()
        if report is not None:
            self.undelivered = report.records
            raise report

    def _close_forgotten(self) -> None:
        try:
            self.close()
        except Undelivered as report:
            _log.error("the producer for %s was not closed: %s", self.topic, report)
