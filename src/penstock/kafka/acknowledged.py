"""Sending from an event loop: every record's fate is told, and never more is underway than was agreed.

librdkafka reports deliveries on a thread of its own. There they are only collected; the event loop is woken once for
all that came together, and settles them. So everything but that collecting happens on the loop's thread, without locks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Thread
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Handle

from penstock.config import Settings
from penstock.errors import BufferFull, PenstockError
from penstock.kafka.errors import translate, translated
from penstock.kafka.outbox import HeaderPairs
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options

RECORD_OVERHEAD = 512
"""What librdkafka and we keep for a record beside its bytes, rounded up."""

_POLL_SECONDS = 0.1
_PURGED_SECONDS = 5.0
_KIB = 1024
_UNREACHED = {
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes begin so
    KafkaError._TRANSPORT,  # noqa: SLF001 - as above
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001 - as above
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}


class OutgoingRecord(NamedTuple):
    """What is sent, all of it in bytes."""

    topic: str
    value: bytes
    key: bytes | None
    headers: HeaderPairs


class Delivery:
    """One record on its way: `settled` with an `error`, or without one when all in-sync replicas have it.

    `in_doubt` says of an error that the record may be in the topic nonetheless.
    """

    __slots__ = ("_collect", "_report", "_size", "_waiting", "error", "in_doubt", "settled")

    def __init__(self, size: int, waiting: Batch, collect: Callable[[Delivery], None]) -> None:
        self.settled = False
        self.error: PenstockError | None = None
        self.in_doubt = False
        self._size = size
        self._waiting = [waiting]
        self._collect = collect
        self._report: KafkaError | None = None

    def __call__(self, error: KafkaError | None, _message: Message) -> None:
        """Take librdkafka's report, on the thread that polls."""
        self._report = error
        self._collect(self)

    def join(self, batch: Batch) -> None:
        """Let another batch wait for this record too."""
        if not self.settled:
            self._waiting.append(batch)
            batch.missing += 1

    def settle(self, error: PenstockError | None = None, *, in_doubt: bool = False) -> int:
        """Tell everybody who waits; the bytes that are underway no more."""
        self.settled, self.error, self.in_doubt = True, error, in_doubt
        for batch in self._waiting:
            batch.one_settled()
        self._waiting.clear()
        return self._size

    def settle_by_report(self) -> int:
        """Settle as librdkafka reported."""
        if self._report is None:
            return self.settle()
        error = translate(self._report, "waiting for the broker's acknowledgement")
        return self.settle(error, in_doubt=self._report.code() in _UNREACHED)


class Batch:
    """Records that one caller waits for together."""

    __slots__ = ("_done", "_loop", "missing")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.missing = 0
        self._loop = loop
        self._done: asyncio.Future[None] | None = None

    def one_settled(self) -> None:
        """Count a record down; the last one wakes the caller."""
        self.missing -= 1
        if not self.missing:
            self._wake()

    async def wait(self, timeout: float) -> None:  # noqa: ASYNC109 - asyncio.timeout costs a tenth of a request
        """Return when every record is settled or the time is over."""
        if not self.missing:
            return
        self._done = self._loop.create_future()
        alarm = self._loop.call_later(timeout, self._wake)
        try:
            await self._done
        finally:
            alarm.cancel()

    def _wake(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(None)


class AcknowledgedProducer:
    """Sends records to any topics from one event loop, with `acks=all` and idempotence whatever the settings say.

    At most `max_bytes` are underway; what does not fit is refused at once, and whole. A record that the broker has
    not confirmed after `give_up` seconds is in doubt.
    """

    def __init__(self, settings: Settings, *, max_bytes: int, give_up: float) -> None:
        self.bytes_underway = 0
        self.fatal: PenstockError | None = None
        self._settings = settings
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._reported: deque[Delivery] = deque()
        with translated("making the collector's producer"):
            self._handle = Handle(_options(settings, max_bytes, give_up) | {"error_cb": self._on_error})
        self._closed = False
        self._thread = Thread(target=self._serve, name="penstock-acknowledged", daemon=True)
        self._thread.start()

    def send(self, records: Sequence[OutgoingRecord], batch: Batch) -> list[Delivery]:
        """Hand over all records, to be waited for with `batch`; BufferFull says that not one was handed over."""
        sizes = [len(record.value) + len(record.key or b"") + RECORD_OVERHEAD for record in records]
        if self.bytes_underway + sum(sizes) > self._max_bytes:
            raise BufferFull(
                f"{self.bytes_underway:,} bytes wait for Kafka's acknowledgement already",
                hint="send more slowly, or look whether Kafka keeps up",
            )
        return [self._send(record, size, batch) for record, size in zip(records, sizes, strict=True)]

    def batch(self) -> Batch:
        """A new batch to wait for."""
        return Batch(self._loop)

    async def check(self, topics: Iterable[str], timeout: float) -> None:  # noqa: ASYNC109 - librdkafka does the waiting
        """Raise what stands in the way of sending to these topics: BrokerUnavailable, TopicNotFound and the like."""
        if self.fatal is not None:
            raise self.fatal
        for topic in topics:
            await asyncio.to_thread(self._find, topic, timeout)

    async def close(self, timeout: float) -> int:  # noqa: ASYNC109 - as above
        """Wait for what is underway, then let it go; how many records the broker had not confirmed by then."""
        missing = await asyncio.to_thread(self._handle.flush, timeout)
        if missing:
            self._handle.purge()
            await asyncio.to_thread(self._handle.flush, _PURGED_SECONDS)
        self._closed = True
        await asyncio.to_thread(self._thread.join)
        self._settle_reported()
        self._handle.close()
        return missing

    def _send(self, record: OutgoingRecord, size: int, batch: Batch) -> Delivery:
        delivery = Delivery(size, batch, self._reported.append)
        batch.missing += 1
        self.bytes_underway += size
        try:
            self._handle.produce(record.topic, record.value, record.key, -1, delivery, headers=record.headers)
        except KafkaException as failure:
            error = translate(failure.args[0], f"sending {len(record.value):,} bytes to {record.topic}")
            self.bytes_underway -= delivery.settle(error)
        except BufferError:
            full = BufferFull("librdkafka's buffer is full", hint="raise queue.buffering.max.kbytes")
            self.bytes_underway -= delivery.settle(full)
        return delivery

    def _serve(self) -> None:
        while not self._closed:
            self._handle.poll(_POLL_SECONDS)
            if self._reported:
                self._loop.call_soon_threadsafe(self._settle_reported)

    def _settle_reported(self) -> None:
        reported = self._reported
        while reported:
            self.bytes_underway -= reported.popleft().settle_by_report()

    def _find(self, topic: str, timeout: float) -> None:
        with translated(f"asking Kafka at {self._settings.bootstrap} for topic {topic}"):
            found = self._handle.list_topics(topic, timeout=timeout).topics[topic]
        if found.error is not None:
            raise translate(found.error, f"looking for topic {topic}", topic=topic)

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal = translate(error, "the producer can send no more")


def _options(settings: Settings, max_bytes: int, give_up: float) -> dict[str, Any]:
    named = ProducerOptions(
        linger_ms=1,
        buffer_messages=0,
        buffer_kib=2 * max_bytes // _KIB,
        delivery_timeout=give_up,
    )
    forced = {"acks": "all", "enable.idempotence": True, "socket.nagle.disable": True}
    return librdkafka_options(settings, named, JAVA_PARTITIONER, forced)
