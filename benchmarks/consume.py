"""Consuming in batches: `Consumer` against a bare loop of librdkafka and fastavro with the same settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import cycle, islice
from time import perf_counter

import confluent_kafka
import fastavro
from _common import SCHEMA, compare, events, own_topic
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from penstock import Consumer, Producer
from penstock.config import Settings, load_settings
from penstock.kafka.consumer_options import librdkafka_options
from penstock.schemas import MemoryRegistry

GOAL = 0.70
RECORDS = int(os.environ.get("RECORDS", "300000"))
BATCH = 1000


def bare(settings: Settings, topic: str) -> float:
    """Records a second by librdkafka's consumer and fastavro's reader, behind a header of five bytes."""
    parsed = fastavro.parse_schema(SCHEMA)
    options = librdkafka_options(
        settings, [topic], group=None, fallback="earliest", assignment="eager", instance_id=None
    )
    consumer = confluent_kafka.Consumer(options)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])

    def batches() -> Iterator[list[object]]:
        while True:
            yield [
                fastavro.schemaless_reader(BytesIO(message.value()[5:]), parsed, None)
                for message in consumer.consume(BATCH, 1.0)
            ]

    try:
        return _rate(batches())
    finally:
        consumer.close()


def ours(settings: Settings, topic: str, registry: MemoryRegistry) -> float:
    """Records a second by `Consumer.batches`."""
    with Consumer(topic, settings=settings, registry=registry) as consumer:
        return _rate(consumer.batches(BATCH))


def main() -> int:
    """Measure on the settings' cluster; 1 if the goal is missed."""
    settings, registry = load_settings().settings, MemoryRegistry()
    with own_topic(settings, partitions=1) as topic:
        _fill(settings, topic, registry)
        return compare(
            {"librdkafka and fastavro, bare loop": partial(bare, settings, topic)},
            {"penstock.Consumer.batches": partial(ours, settings, topic, registry)},
            goal=GOAL,
        )


def _rate(batches: Iterator[list[object]]) -> float:
    """From the first batch on, so that connecting is not counted."""
    first = len(next(batches))
    started, count = perf_counter(), first
    while count < RECORDS:
        count += len(next(batches))
    return (count - first) / (perf_counter() - started)


def _fill(settings: Settings, topic: str, registry: MemoryRegistry) -> None:
    with Producer(topic, SCHEMA, settings=settings, registry=registry) as producer:
        for event in islice(cycle(events()), RECORDS):
            producer.send(event, key=event["User_ID"])


if __name__ == "__main__":
    sys.exit(main())
