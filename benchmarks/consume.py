"""Consuming in batches: `Consumer` against a bare loop of librdkafka and fastavro with the same settings."""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from time import perf_counter

import confluent_kafka
import fastavro
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock import Consumer, Producer
from penstock.config import Settings, load_settings
from penstock.kafka.consumer_options import librdkafka_options
from penstock.kafka.options import client_options
from penstock.schemas import MemoryRegistry

GOAL = 0.70
ROUNDS = int(os.environ.get("ROUNDS", "5"))
RECORDS = int(os.environ.get("RECORDS", "300000"))
BATCH = 1000
FIELDS = ("Event_Type", "User_ID", "Session_ID", "Page", "Client_Time", "Server_Time")
SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": name, "type": "string"} for name in FIELDS]}

Measure = Callable[[Settings, str, MemoryRegistry], float]


def bare(settings: Settings, topic: str, _registry: MemoryRegistry) -> float:
    """Records a second by librdkafka's consumer and fastavro's reader, behind a header of five bytes."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
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
    """Measure in turn, print medians and the ratio; 1 if it is below the goal."""
    settings, registry = load_settings().settings, MemoryRegistry()
    rates: dict[Measure, list[float]] = {bare: [], ours: []}
    with _filled_topic(settings, registry) as topic:
        for number in range(ROUNDS):
            for measure in (bare, ours) if number % 2 else (ours, bare):
                rates[measure].append(measure(settings, topic, registry))
    ceiling, reached = (statistics.median(rates[measure]) for measure in (bare, ours))
    print(f"  librdkafka and fastavro, bare loop {ceiling:>10,.0f} records/s")
    print(f"  penstock.Consumer.batches          {reached:>10,.0f} records/s")
    print(f"  ratio {reached / ceiling:.2f} (goal {GOAL:.2f}; medians of {ROUNDS} rounds of {RECORDS:,} records)")
    return 0 if reached >= GOAL * ceiling else 1


def _rate(batches: Iterator[list[object]]) -> float:
    """From the first batch on, so that connecting is not counted."""
    first = len(next(batches))
    started, count = perf_counter(), first
    while count < RECORDS:
        count += len(next(batches))
    return (count - first) / (perf_counter() - started)


@contextmanager
def _filled_topic(settings: Settings, registry: MemoryRegistry) -> Iterator[str]:
    admin, dice = AdminClient(client_options(settings)), random.Random(1)
    name = f"bench-consume-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    events = [{field: f"{field[:4]}-{dice.getrandbits(40):x}" for field in FIELDS} for _ in range(1000)]
    try:
        with Producer(name, SCHEMA, settings=settings, registry=registry) as producer:
            for number in range(RECORDS):
                producer.send(events[number % len(events)], key=events[number % len(events)]["User_ID"])
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


if __name__ == "__main__":
    sys.exit(main())
