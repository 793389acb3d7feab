"""Producing with a schema: `Producer` against a bare loop of fastavro and librdkafka with the same settings."""

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
from itertools import cycle, islice
from time import perf_counter

import confluent_kafka
import fastavro
from confluent_kafka.admin import AdminClient, NewTopic

from penstock import Producer
from penstock.config import Settings, load_settings
from penstock.kafka.options import client_options
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options
from penstock.schemas import MemoryRegistry

GOAL = 0.70
ROUNDS = int(os.environ.get("ROUNDS", "5"))
RECORDS = int(os.environ.get("RECORDS", "200000"))
FIELDS = ("Event_Type", "User_ID", "Session_ID", "Page", "Client_Time", "Server_Time")
SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": name, "type": "string"} for name in FIELDS]}
OPTIONS: ProducerOptions = {"acks": "all", "compression": "lz4", "linger_ms": 5}

Event = dict[str, str]


def events() -> list[Event]:
    """A thousand different events, to be sent again and again."""
    dice = random.Random(1)
    return [{name: f"{name[:4]}-{dice.getrandbits(40):x}" for name in FIELDS} for _ in range(1000)]


def bare(settings: Settings, topic: str, sent: list[Event]) -> float:
    """Records a second by fastavro's writer and librdkafka's producer, with a header of five bytes."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
    producer = confluent_kafka.Producer(librdkafka_options(settings, OPTIONS, JAVA_PARTITIONER, {}))
    header = b"\0\0\0\0\1"

    def send(event: Event) -> None:
        stream = BytesIO()
        stream.write(header)
        fastavro.schemaless_writer(stream, parsed, event)
        value = stream.getvalue()
        while True:
            try:
                return producer.produce(topic, value)
            except BufferError:
                producer.poll(0.01)

    return _rate(send, producer.flush, sent)


def ours(settings: Settings, topic: str, sent: list[Event]) -> float:
    """Records a second by `Producer.send`."""
    with Producer(topic, SCHEMA, settings=settings, registry=MemoryRegistry(), **OPTIONS) as producer:
        return _rate(producer.send, producer.flush, sent)


def main() -> int:
    """Measure in turn, print medians and the ratio; 1 if it is below the goal."""
    settings = load_settings().settings
    sent = list(islice(cycle(events()), RECORDS))
    rates: dict[Callable[[Settings, str, list[Event]], float], list[float]] = {bare: [], ours: []}
    with _topic(settings) as topic:
        for number in range(ROUNDS):
            for measure in (bare, ours) if number % 2 else (ours, bare):
                rates[measure].append(measure(settings, topic, sent))
    ceiling, reached = (statistics.median(rates[measure]) for measure in (bare, ours))
    print(f"  fastavro and librdkafka, bare loop {ceiling:>10,.0f} records/s")
    print(f"  penstock.Producer                  {reached:>10,.0f} records/s")
    print(f"  ratio {reached / ceiling:.2f} (goal {GOAL:.2f}; medians of {ROUNDS} rounds of {RECORDS:,} records)")
    return 0 if reached >= GOAL * ceiling else 1


def _rate(send: Callable[[Event], None], flush: Callable[[], object], sent: list[Event]) -> float:
    send(sent[0])
    flush()
    started = perf_counter()
    for event in sent:
        send(event)
    flush()
    return len(sent) / (perf_counter() - started)


@contextmanager
def _topic(settings: Settings) -> Iterator[str]:
    admin = AdminClient(client_options(settings))
    name = f"bench-produce-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(30)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


if __name__ == "__main__":
    sys.exit(main())
