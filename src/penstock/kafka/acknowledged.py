"""Producer for an event loop: settles every record, and limits the bytes in flight.

librdkafka reports deliveries to the thread that polls. Here the event loop polls, every millisecond while records are
in flight. A separate polling thread would have to wait for Python's GIL whenever the loop is busy, which is when most
callers wait for reports. So everything runs on the loop's thread, without locks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Handle
from confluent_kafka.admin import ClusterMetadata

from penstock.config import Settings
from penstock.errors import BufferFull, PenstockError
from penstock.kafka.errors import Right, translate, translated
from penstock.kafka.outbox import HeaderPairs
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options
from penstock.kafka.topic_lookup import TopicLookup
from penstock.kafka.watch import ConnectionWatch

RECORD_OVERHEAD = 512
"""Bytes that librdkafka and Penstock keep per record in addition to its content, rounded up."""

_POLL_SECONDS = 0.001
_IDLE_POLL_SECONDS = 0.1
_SETTLE_SECONDS = 0.02
_PURGED_SECONDS = 5.0
_KIB = 1024
_LINGER_MS = 0.5
"""Long enough for requests of many connections to share a batch, which saves more time than it costs."""
_BUSY_RECORDS = 8
_BUSY_SECONDS = 0.005
"""With at least `_BUSY_RECORDS` in flight and a record sent within this time, librdkafka is polled between any two
steps of the event loop: a timer of the loop waits a millisecond at least, time to answer many requests. With Kafka
unreachable, or little to do, polling so often would only keep a core busy.
"""
_IN_DOUBT = {
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._TRANSPORT,  # noqa: SLF001 - as above
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001 - as above
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}


OutgoingRecord = tuple[str, bytes, bytes | None, HeaderPairs]
"""Topic, value, key and headers. A plain tuple for speed: one is created for every event."""


@dataclass(slots=True)
class Underway:
    """Bytes and records not yet acknowledged, and librdkafka's fatal error, if any."""

    bytes: int = 0
    records: int = 0
    fatal: PenstockError | None = None


class Delivery(msgspec.Struct, eq=False):
    """Delivery of a record: `settled` with an `error`, or without one once all in-sync replicas have the record.

    `in_doubt` marks an error after which the record may be in the topic nonetheless. A Struct for speed: one is created
    for every event.
    """

    size: int
    waiting: Sequence[Batch]
    underway: Underway
    settled: bool = False
    error: PenstockError | None = None
    in_doubt: bool = False

    def __call__(self, report: KafkaError | None, _message: Message) -> None:
        """Handle librdkafka's delivery report."""
        if report is not None:
            tried = "waiting for the broker's acknowledgement"
            self.error = self.underway.fatal or translate(report, tried)
            self.in_doubt = report.code() in _IN_DOUBT
        self.settle()

    def join(self, batch: Batch) -> None:
        """Let a further batch wait for this record."""
        if not self.settled:
            self.waiting = [*self.waiting, batch]
            batch.missing += 1

    def leave(self, batch: Batch) -> None:
        """Remove a batch added by `join`."""
        if not self.settled:
            self.waiting = [each for each in self.waiting if each is not batch]
            batch.missing -= 1

    def fail(self, error: PenstockError) -> None:
        """Settle with an error: the record was not even handed to librdkafka."""
        self.error = error
        self.settle()

    def settle(self) -> None:
        """Mark the record as settled and notify the waiting batches."""
        self.settled = True
        self.underway.bytes -= self.size
        self.underway.records -= 1
        for batch in self.waiting:
            batch.missing -= 1
            if self.error is not None:
                batch.failed = True
            if not batch.missing:
                batch.wake()


class Batch:
    """Records awaited together by a caller: the number not settled, and whether any failed."""

    __slots__ = ("_done", "_loop", "failed", "missing")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.missing = 0
        self.failed = False
        self._loop = loop
        self._done: asyncio.Future[None] | None = None

    def settled(self) -> asyncio.Future[None]:
        """Return a future that is done when every record is settled, or when `wake` is called."""
        self._done = self._loop.create_future()
        if not self.missing:
            self._done.set_result(None)
        return self._done

    def wake(self) -> None:
        """Resume the waiting caller."""
        if self._done is not None and not self._done.done():
            self._done.set_result(None)


class AcknowledgedProducer:
    """Producer for any topics from one event loop. Forces `acks=all` and idempotence, whatever the settings say.

    At most `max_bytes` are in flight. Records that do not fit are rejected at once, and all together. A record that the
    broker has not acknowledged after `give_up` seconds is in doubt.
    """

    def __init__(self, settings: Settings, *, max_bytes: int, give_up: float) -> None:
        self._underway = Underway()
        self._settings = settings
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._watch = ConnectionWatch()
        self._handle = _make_handle(settings, max_bytes, give_up, error_cb=self._watch)
        self._last_sent = 0.0
        self._timer: asyncio.Handle = self._loop.call_soon(self._poll)

    @property
    def fatal(self) -> PenstockError | None:
        """Error after which nothing can be sent, if any."""
        return self._underway.fatal

    @property
    def bytes_underway(self) -> int:
        """Number of bytes that wait for Kafka's acknowledgement."""
        return self._underway.bytes

    def send(self, records: Sequence[OutgoingRecord], batch: Batch) -> list[Delivery]:
        """Hand over all records, to be awaited with `batch`. On BufferFull, none was handed over."""
        sizes, underway = [_size(value, key) for _, value, key, _ in records], self._underway
        size = sum(sizes)
        if underway.bytes + size > self._max_bytes:
            raise BufferFull(
                f"{underway.bytes:,} bytes wait for Kafka's acknowledgement already",
                hint="send more slowly, or look whether Kafka keeps up",
            )
        if not underway.records:
            self._poll_within(_POLL_SECONDS)
        self._last_sent = self._loop.time()
        underway.bytes += size
        underway.records += len(records)
        batch.missing += len(records)
        waiting, produce = [batch], self._handle.produce
        deliveries = [Delivery(size, waiting, underway) for size in sizes]
        for delivery, (topic, value, key, headers) in zip(deliveries, records, strict=True):
            try:
                produce(topic, value, key, -1, delivery, headers=headers)
            except (KafkaException, BufferError) as failure:
                delivery.fail(self._why_not_sent(failure, f"sending {len(value):,} bytes to {topic}"))
        return deliveries

    def could_hold(self, records: Sequence[OutgoingRecord]) -> bool:
        """Whether all these records fit when nothing else is in flight."""
        return sum(_size(value, key) for _, value, key, _ in records) <= self._max_bytes

    def batch(self) -> Batch:
        """Return a new batch to wait for."""
        return Batch(self._loop)

    async def check(self, topics: Iterable[str], timeout: float) -> None:  # noqa: ASYNC109 - librdkafka does the waiting
        """Check that records can be sent to the topics; raises BrokerUnavailable, TopicNotFound and the like."""
        if self.fatal is not None:
            raise self.fatal
        patience = self._settings.model_copy(update={"timeout": timeout})
        for topic in topics:
            lookup = TopicLookup(_Asked(self._handle), topic, patience, self._watch)
            await asyncio.to_thread(lookup.partition_count, Right("WRITE", "topic", topic))

    async def close(self, timeout: float) -> int:  # noqa: ASYNC109 - as above
        """Wait for records in flight, then disconnect. Return the number of records not acknowledged in time."""
        await self._settle_all(timeout)
        missing = self._underway.records
        if missing:
            self._handle.purge()
            await self._settle_all(_PURGED_SECONDS)
        self._timer.cancel()
        self._handle.close()
        return missing

    def _why_not_sent(self, failure: KafkaException | BufferError, tried: str) -> PenstockError:
        if isinstance(failure, BufferError):
            return BufferFull("librdkafka's buffer is full", hint="send more slowly")
        return self.fatal or translate(failure.args[0], tried)

    async def _settle_all(self, timeout: float) -> None:  # noqa: ASYNC109 - as above
        give_up = self._loop.time() + timeout
        while self._underway.records and self._loop.time() < give_up:  # noqa: ASYNC110 - an event would slow down each record
            await asyncio.sleep(_SETTLE_SECONDS)

    def _poll(self) -> None:
        """Let librdkafka deliver its reports."""
        try:
            self._handle.poll(0)
        except KafkaException as failure:
            self._underway.fatal = _fatal(failure.args[0])
        if self._is_busy():
            self._timer = self._loop.call_soon(self._poll)
        else:
            self._poll_within(_POLL_SECONDS if self._underway.records else _IDLE_POLL_SECONDS)

    def _is_busy(self) -> bool:
        return self._underway.records >= _BUSY_RECORDS and self._loop.time() < self._last_sent + _BUSY_SECONDS

    def _poll_within(self, seconds: float) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._poll)


class _Asked:
    """The handle for use by further threads: only the event loop may poll for reports and errors."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def list_topics(self, topic: str | None, timeout: float) -> ClusterMetadata:
        """Return the cluster's metadata of the topic."""
        found: ClusterMetadata = self._handle.list_topics(topic, timeout)
        return found

    def poll(self, timeout: float) -> None:
        """Do nothing: the event loop polls."""


def _size(value: bytes, key: bytes | None) -> int:
    return len(value) + len(key or b"") + RECORD_OVERHEAD


def _fatal(error: KafkaError) -> PenstockError:
    """Translate librdkafka's fatal error, which is raised only once, by the first call after the failure."""
    fatal = translate(error, "Kafka lets this producer send no more")
    fatal.hint = f"{fatal.hint}; restart it when that is mended" if fatal.hint else "restart it"
    return fatal


def check_options(settings: Settings, *, max_bytes: int, give_up: float) -> None:
    """Raise librdkafka's objections to the settings, before anything is started."""
    _make_handle(settings, max_bytes, give_up).close()


def _make_handle(settings: Settings, max_bytes: int, give_up: float, **callbacks: Callable[..., None]) -> Handle:
    with translated("making a producer"):
        return Handle(_options(settings, max_bytes, give_up) | callbacks)


def _options(settings: Settings, max_bytes: int, give_up: float) -> dict[str, Any]:
    named = ProducerOptions(
        linger_ms=_LINGER_MS,
        buffer_messages=0,
        buffer_kib=2 * max_bytes // _KIB,
        delivery_timeout=give_up,
    )
    forced = {"acks": "all", "enable.idempotence": True, "socket.nagle.disable": True}
    return librdkafka_options(settings, named, JAVA_PARTITIONER, forced)
