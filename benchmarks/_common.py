"""What the benchmarks share: an event of six strings, topics of their own, and rounds that are run in turn."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Producer as BareProducer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.config import Settings
from penstock.kafka.options import client_options
from penstock.local.process import guarded

ROUNDS = int(os.environ.get("ROUNDS", "5"))
FIELDS = ("Event_Type", "User_ID", "Session_ID", "Page", "Client_Time", "Server_Time")
SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": name, "type": "string"} for name in FIELDS]}

Event = dict[str, str]
Measure = Callable[[], float]


class Message(NamedTuple):
    """A message as Kafka carries it."""

    key: bytes | None
    value: bytes


def events(count: int = 1000) -> list[Event]:
    """Different events, the same ones in every run."""
    dice = random.Random(1)
    return [{name: f"{name[:4]}-{dice.getrandbits(40):x}" for name in FIELDS} for _ in range(count)]


@contextmanager
def own_topic(settings: Settings, partitions: int) -> Iterator[str]:
    """A topic that is deleted afterwards."""
    admin, name = AdminClient(client_options(settings)), f"bench-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


def send(settings: Settings, topic: str, messages: Iterable[Message]) -> None:
    """Put messages into a topic, those without a key evenly into its partitions, so that no run has luck with them."""
    evenly = {"sticky.partitioning.linger.ms": 0}
    producer = BareProducer(client_options(settings) | evenly | {"compression.type": "lz4", "linger.ms": 20})
    for key, value in messages:
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()


def compare(ceiling: Mapping[str, Measure], ours: Mapping[str, Measure], *, goal: float, least: float = 0) -> int:
    """Measure both in turn, print the medians of their records a second and the ratio.

    1 if the ratio misses the goal, or ours is slower than the least.
    """
    measures = {**ceiling, **ours}
    rates: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(ROUNDS):
        for name in sorted(measures, reverse=bool(number % 2)):
            rates[name].append(measures[name]())
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, median in medians.items():
        print(f"  {name:<40} {median:>10,.0f} records/s")
    rate = medians[next(iter(ours))]
    ratio, wanted = rate / medians[next(iter(ceiling))], f", and {least:,.0f} records/s" if least else ""
    print(f"  ratio {ratio:.2f}, goal {goal:.2f}{wanted} (medians of {ROUNDS} rounds)")
    return 0 if ratio >= goal and rate >= least else 1


def each_apart(file: str, parts: Sequence[str]) -> int:
    """Run each part of a benchmark in a process of its own, with a Java of its own; 1 if one of them misses its goal.

    As pipelines have it: Java compiles the code that two parts share for both.
    """
    command = guarded([sys.executable, file])
    codes = [subprocess.run(command, env={**os.environ, "PARTS": part}, check=False) for part in parts]
    return int(any(each.returncode for each in codes))


def percentiles(what: str, seconds: Sequence[float]) -> float:
    """Print the middle and the late ones of sorted seconds; the late ones."""
    middle, late = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
    print(f"  {what:<40} p50 {middle:6.3f} s, p99 {late:6.3f} s, of {len(seconds):,}")
    return late
