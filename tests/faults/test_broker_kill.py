"""A broker that leads partitions dies by -9 while records are sent, and comes back: nothing acknowledged is lost."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from penstock import Consumer, Producer
from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.events.record import Receipt
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_layouts
from penstock.kafka.topics import ensure_topic
from tests.conftest import Running

KEYS = 50
SCHEMA = {
    "type": "record",
    "name": "Step",
    "fields": [{"name": "key", "type": "string"}, {"name": "number", "type": "long"}],
}


class Ledger:
    """What the broker confirmed, by key, in the order in which it was sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.confirmed: dict[str, list[int]] = defaultdict(list)
        self.failed = 0

    def entry(self, key: str, number: int) -> Callable[[Receipt | PenstockError], None]:
        def told(outcome: Receipt | PenstockError) -> None:
            with self._lock:
                if isinstance(outcome, PenstockError):
                    self.failed += 1
                else:
                    self.confirmed[key].append(number)

        return told

    @property
    def total(self) -> int:
        return sum(map(len, self.confirmed.values()))


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_every_acknowledged_record_survives_the_death_of_a_leader(
    cluster: Running, topic: str, rounds: int, tell: Callable[[str], None]
) -> None:
    records = 50_000 * rounds or 8_000
    ensure_topic(cluster.settings, topic, partitions=6, replication=3, config={"min.insync.replicas": "2"})
    victim = leader_of(cluster.settings, topic)
    ledger = Ledger()
    with Producer(topic, SCHEMA, settings=cluster.settings, acks="all") as producer:
        for number in range(records):
            if number == records // 3:
                cluster.kill(victim)
            if number == 2 * records // 3:
                cluster.restart(victim)
            key = f"key-{number % KEYS}"
            producer.send_async({"key": key, "number": number}, key=key, on_delivery=ledger.entry(key, number))

    read = read_back(cluster.settings, topic)
    lost = sum(len(set(numbers) - set(read[key])) for key, numbers in ledger.confirmed.items())
    repeated = sum(count - 1 for numbers in read.values() for count in Counter(numbers).values())
    tell(
        f"killed {victim} of 3 while sending {records:,} records: {ledger.total:,} acknowledged, "
        f"{ledger.failed} failed, {lost} lost, {repeated} repeated"
    )
    assert ledger.total + ledger.failed == records
    assert lost == 0
    assert repeated == 0
    for numbers in read.values():
        assert numbers == sorted(numbers)


def leader_of(settings: Settings, topic: str) -> str:
    """The name of the part that leads the topic's first partition."""
    with Admin(settings) as admin:
        return f"kafka-{read_layouts(admin, topic)[0].leader}"


def read_back(settings: Settings, topic: str) -> dict[str, list[int]]:
    """All numbers in the topic by key, in the order in which they stand."""
    found: dict[str, list[int]] = defaultdict(list)
    with Consumer(topic, timeout=10, settings=settings) as consumer:
        for record in consumer:
            found[record.value["key"]].append(record.value["number"])
    return found
