"""Measure the throughput of a partition of the cluster, on a temporary topic."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from penstock.errors import DeliveryFailed, KafkaRefused, NotAuthorized, OperationTimedOut, PenstockError
from penstock.events.record import Partition, TopicName
from penstock.kafka import consumer_options, producer_options
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.configs import broker_settings
from penstock.kafka.errors import Right, translate
from penstock.kafka.load import Load
from penstock.kafka.offsets import PartitionId, end_offsets
from penstock.kafka.plan import Rates
from penstock.kafka.topics import create_topic, delete_topic

MAX_BYTES = 500_000_000
"""Maximum bytes that a measurement sends, even if time is left, so that it never fills a disk."""

_BURST = 1_000
_BATCH = 500
_ROOM_INTERVAL = 0.01
_READ_INTERVAL = 0.5
_TOPIC_SETTINGS = {"retention.ms": "600000", "file.delete.delay.ms": "1000"}
"""A topic left behind by kill -9 does not hold records for long either."""


def measure_partition(admin: Admin, load: Load, seconds: float, tell: Callable[[str], None]) -> Rates:
    """Send to one partition for `seconds`, read back for as long, and delete the topic, also when interrupted."""
    with temporary_topic(admin, load.replication) as topic:
        tell(f"sending to one partition for {seconds:g} s")
        production = _Sending(admin, topic, load).rate(seconds)
        tell(f"reading it back for {seconds:g} s")
        return Rates(production, _Reading(admin, topic).rate(seconds))


@contextmanager
def temporary_topic(admin: Admin, replication: int) -> Iterator[TopicName]:
    """Provide a topic with one partition and delete the topic at the end of the block in any case."""
    _refuse_undeletable(admin)
    topic = TopicName(f"penstock-plan-{uuid.uuid4().hex[:12]}")
    with ExitStack() as undo:
        undo.callback(_delete_quietly, admin, topic)
        create_topic(admin, topic, partitions=1, replication=replication, settings=_TOPIC_SETTINGS)
        yield topic
        undo.pop_all()
    delete_topic(admin, topic)


def _delete_quietly(admin: Admin, topic: TopicName) -> None:
    """Delete the topic after a failure and ignore errors: the original failure matters more."""
    with suppress(PenstockError):
        delete_topic(admin, topic)


def _refuse_undeletable(admin: Admin) -> None:
    broker = read_cluster(admin).brokers[0].id
    try:
        found = broker_settings(admin, [broker])[broker]
    except NotAuthorized:
        return
    if any(setting.name == "delete.topic.enable" and setting.value == "false" for setting in found):
        raise KafkaRefused(
            "nothing is measured: the brokers have delete.topic.enable=false, so a topic would stay behind",
            hint="measure on a like cluster, and give --production-rate and --consumption-rate here",
        )


class _Sending:
    """Sends a load to one partition as fast as the brokers acknowledge."""

    def __init__(self, admin: Admin, topic: TopicName, load: Load) -> None:
        self._admin = admin
        self._topic = topic
        self._records = load.records
        self._failures: list[PenstockError] = []
        self._producer = Producer(self._options(load))

    def rate(self, seconds: float) -> float:
        """Return acknowledged bytes per second, not counting a first burst, which includes connecting."""
        try:
            self._deliver(self._records[:_BURST])
            started = time.monotonic()
            return self._deliver(_repeated(self._records, started + seconds)) / (time.monotonic() - started)
        finally:
            self._producer.purge()

    def _options(self, load: Load) -> dict[str, Any]:
        named: producer_options.ProducerOptions = {
            "acks": load.acks,
            "idempotent": load.acks == "all",
            "batch_bytes": load.batch_bytes,
            "compression": load.compression,
            "delivery_timeout": self._admin.settings.timeout,
        }
        options = producer_options.librdkafka_options(
            self._admin.settings, named, producer_options.JAVA_PARTITIONER, {}
        )
        return {**options, "delivery.report.only.error": True, "on_delivery": self._note}

    def _note(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            needs = [Right("WRITE", "topic", self._topic)]
            self._failures.append(translate(error, f"sending to {self._topic}", needs=needs, user=self._admin.user))

    def _deliver(self, records: Iterable[bytes]) -> int:
        sent = 0
        for record in records:
            self._enqueue(record)
            sent += len(record)
        left = self._producer.flush(self._admin.settings.timeout)
        if left or self._failures:
            raise next(iter(self._failures), DeliveryFailed(f"sending to {self._topic}: {left:,} records unconfirmed"))
        return sent

    def _enqueue(self, record: bytes) -> None:
        while not self._failures:
            try:
                self._producer.produce(self._topic, record, partition=0)
            except BufferError:
                self._producer.poll(_ROOM_INTERVAL)
            else:
                return


def _repeated(records: Sequence[bytes], deadline: float) -> Iterator[bytes]:
    left = MAX_BYTES
    for index, record in enumerate(cycle(records)):
        if index % _BURST == 0 and (left <= 0 or time.monotonic() > deadline):
            return
        left -= len(record)
        yield record


class _Reading:
    """Reads a partition from its beginning, repeatedly."""

    def __init__(self, admin: Admin, topic: TopicName) -> None:
        partition = PartitionId(topic, Partition(0))
        options = consumer_options.librdkafka_options(
            admin.settings, [topic], group=None, fallback="earliest", assignment="eager", instance_id=None
        )
        self._admin = admin
        self._beginning = TopicPartition(topic, 0, OFFSET_BEGINNING)
        self._end = end_offsets(admin, [partition])[partition]
        self._consumer = Consumer(options)

    def rate(self, seconds: float) -> float:
        """Return the reading rate of a consumer in bytes per second."""
        read, spent = 0, 0.0
        deadline = time.monotonic() + seconds
        try:
            while not read or time.monotonic() < deadline:
                size, duration = self._pass(deadline)
                read, spent = read + size, spent + duration
        finally:
            self._consumer.close()
        return read / spent

    def _pass(self, deadline: float) -> tuple[int, float]:
        """Return bytes and seconds of a pass, without the first batch and its wait for the broker."""
        self._consumer.assign([self._beginning])
        batch, size = self._batch(), 0
        started = time.monotonic()
        while (batch[-1].offset() or 0) + 1 < self._end and not (size and time.monotonic() > deadline):
            batch = self._batch()
            size += sum(map(len, batch))
        return size, time.monotonic() - started

    def _batch(self) -> list[Message]:
        timeout = self._admin.settings.timeout
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            batch = self._consumer.consume(_BATCH, _READ_INTERVAL)
            for message in batch:
                self._check(message)
            if batch:
                return batch
        raise OperationTimedOut(f"reading back what was sent: nothing came for {timeout:g} s")

    def _check(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            needs = [Right("READ", "topic", message.topic() or "")]
            raise translate(error, "reading back what was sent", needs=needs, user=self._admin.user)
