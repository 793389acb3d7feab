"""Bounded reads: the current records of topics, undecoded, between start and end offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from confluent_kafka import Consumer as Handle
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from penstock.config import Settings
from penstock.events.record import ConsumerRecord, Offset
from penstock.kafka.admin import Admin
from penstock.kafka.consumer_options import librdkafka_options
from penstock.kafka.decoding import raw_record
from penstock.kafka.errors import Right, translate, translated
from penstock.kafka.offsets import Offsets, PartitionId, end_offsets, first_offsets, offsets_at
from penstock.kafka.start import Moment, find_partitions
from penstock.kafka.watch import ConnectionWatch

_FETCH_SIZE = 500
_WAIT_SECONDS = 0.2


@dataclass(frozen=True)
class Span:
    """The records from `starts` up to, but not including, `ends`. Records written later are not included."""

    starts: Offsets
    ends: Offsets

    @property
    def size(self) -> int:
        """Number of offsets in the span. A compacted topic has fewer records."""
        return sum(self.ends[partition] - start for partition, start in self.starts.items())


def find_span(settings: Settings, topics: Collection[str], start: Moment = "earliest") -> Span:
    """Return the span of all current records from `start` on. The topics must exist."""
    with Admin(settings) as admin:
        partitions = find_partitions(admin, topics)
        ends = end_offsets(admin, partitions)
        if start == "latest":
            return Span({}, {})
        found = first_offsets(admin, partitions) if start == "earliest" else offsets_at(admin, partitions, start)
    return Span({partition: offset for partition, offset in found.items() if offset < ends[partition]}, ends)


def newest_span(settings: Settings, topics: Collection[str], records: int) -> Span:
    """Return the span of the newest `records` of each partition. A pattern may match no topic yet."""
    with Admin(settings) as admin:
        partitions = find_partitions(admin, topics)
        first, ends = first_offsets(admin, partitions), end_offsets(admin, partitions)
    starts = {each: Offset(max(first[each], ends[each] - records)) for each in partitions}
    return Span({each: offset for each, offset in starts.items() if offset < ends[each]}, ends)


def read_span(settings: Settings, span: Span) -> Iterator[ConsumerRecord]:
    """Yield the records of a span, in order within each partition. A Transient error means the broker was lost."""
    if not span.starts:
        return
    topics = sorted({partition.topic for partition in span.starts})
    watch = ConnectionWatch()
    options = librdkafka_options(
        settings, topics, group=None, fallback="earliest", assignment="eager", instance_id=None
    )
    with translated("making a consumer"):
        handle = Handle({**options, "enable.partition.eof": True, "error_cb": watch})
    with closing(handle):
        handle.assign([TopicPartition(*partition, offset) for partition, offset in span.starts.items()])
        yield from _records(handle, span, watch, settings)


def _records(handle: Handle, span: Span, watch: ConnectionWatch, settings: Settings) -> Iterator[ConsumerRecord]:
    left = set(span.starts)
    heard = monotonic()
    while left:
        messages = handle.consume(_FETCH_SIZE, _WAIT_SECONDS)
        if messages:
            heard = monotonic()
        elif watch.hopeless or monotonic() - heard > settings.timeout:
            silence = watch.reason or KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001 - librdkafka's own codes start with _
            raise translate(silence, f"reading {', '.join(sorted({place.topic for place in left}))}")
        for message in messages:
            if _is_record(message, settings):
                record = raw_record(message)
                place = PartitionId(record.topic, record.partition)
                if record.offset < span.ends[place]:
                    yield record
                if record.offset + 1 >= span.ends[place]:
                    left.discard(place)
            else:
                left.discard(_place_of(message))


def _is_record(message: Message, settings: Settings) -> bool:
    """Return True for a record, False for the end of its partition. Raise errors."""
    error = message.error()
    if error is None:
        return True
    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
        return False
    topic = message.topic() or ""
    user = str(settings.kafka.get("sasl.username", ""))
    raise translate(error, f"reading {topic}", needs=[Right("READ", "topic", topic)], user=user) from KafkaException(
        error
    )


def _place_of(message: Any) -> PartitionId:  # noqa: ANN401 - the stub's messages may have no partition
    return PartitionId(message.topic(), message.partition())
