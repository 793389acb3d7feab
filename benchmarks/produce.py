"""Producing with a schema: `Producer` against a bare loop of fastavro and librdkafka with the same settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from io import BytesIO
from itertools import cycle, islice
from time import perf_counter

import confluent_kafka
import fastavro
from _common import SCHEMA, Event, compare, events, own_topic

from penstock import Producer
from penstock.config import Settings, load_settings
from penstock.kafka.producer_options import JAVA_PARTITIONER, ProducerOptions, librdkafka_options
from penstock.schemas import MemoryRegistry

GOAL = 0.70
RECORDS = int(os.environ.get("RECORDS", "200000"))
OPTIONS: ProducerOptions = {"acks": "all", "compression": "lz4", "linger_ms": 5}


def bare(settings: Settings, topic: str, sent: list[Event]) -> float:
    """Records a second by fastavro's writer and librdkafka's producer, with a header of five bytes."""
    parsed = fastavro.parse_schema(SCHEMA)
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
    """Measure on the settings' cluster; 1 if the goal is missed."""
    settings = load_settings().settings
    sent = list(islice(cycle(events()), RECORDS))
    with own_topic(settings, partitions=3) as topic:
        return compare(
            {"fastavro and librdkafka, bare loop": partial(bare, settings, topic, sent)},
            {"penstock.Producer": partial(ours, settings, topic, sent)},
            goal=GOAL,
        )


def _rate(send: Callable[[Event], None], flush: Callable[[], object], sent: list[Event]) -> float:
    """After a first record, so that connecting is not counted."""
    send(sent[0])
    flush()
    started = perf_counter()
    for event in sent:
        send(event)
    flush()
    return len(sent) / (perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
