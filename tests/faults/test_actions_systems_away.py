"""A broker restarts, or the registry is away, while an action works: it waits, and nothing is lost or given up."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import Producer
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_layouts
from penstock.schemas import AvroCodec, Schema, connect_registry
from tests.conftest import Running
from tests.faults.action_group import action_group, assert_in_order, repeated, wait_until

AWAY_SECONDS = 3.0
MEMBERS = 2
BUFFER = 200
STEP = {
    "type": "record",
    "name": "Step",
    "fields": [{"name": "key", "type": "string"}, {"name": "number", "type": "long"}],
}


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_a_broker_that_restarts_costs_no_event(
    cluster: Running, topic: str, rounds: int, tell: Callable[[str], None], tmp_path: Path
) -> None:
    events = 20_000 * rounds or 1_200
    with action_group(cluster.settings, tmp_path, topic, replication=3) as group:
        file = group.write_file(wait=0.005, source={"commit": "sync", "commit_every": 50}, concurrency=8, buffer=BUFFER)
        for _ in range(MEMBERS):
            group.join(file)
        group.send(events // 4)
        wait_until(lambda: bool(group.handled()), "the members are at work")
        sender = threading.Thread(target=group.send, args=(events - events // 4,))
        sender.start()
        for _ in range(max(rounds, 1)):
            restart_leader(cluster, topic)
        sender.join()
        group.wait_for_all()
        handled = group.handled()
    assert_in_order(handled)
    restarts = max(rounds, 1)
    assert len(repeated(handled)) <= restarts * MEMBERS * BUFFER, "no more than members may hold is repeated"
    tell(f"a leader restarted {restarts} times, {events:,} events: lost 0, repeated {len(repeated(handled))}")


def restart_leader(cluster: Running, topic: str) -> None:
    with Admin(cluster.settings) as admin:
        victim = f"kafka-{read_layouts(admin, topic)[0].leader}"
    cluster.kill(victim)
    time.sleep(AWAY_SECONDS)
    cluster.restart(victim)


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_events_wait_for_a_registry_that_is_away(
    cluster: Running, topic: str, tell: Callable[[str], None], tmp_path: Path
) -> None:
    settings = cluster.settings
    encode = AvroCodec(connect_registry(settings)).encoder(f"{topic}-value", Schema.from_text(json.dumps(STEP)))
    with action_group(settings, tmp_path, topic, replication=3) as group:
        group.join(group.write_file(source={"commit": "sync"}))
        group.send(100)
        group.wait_for_all()
        cluster.kill("registry")
        try:
            with Producer(topic, serializer=encode, settings=settings) as producer:
                for number in range(100, 200):
                    producer.send({"key": f"key-{number % 7}", "number": number}, key=f"key-{number % 7}")
            time.sleep(AWAY_SECONDS)
            assert len(group.handled()) == 100, "an event of an unknown schema waits"
        finally:
            cluster.restart("registry")
        wait_until(lambda: len(group.handled()) == 200, "the events that waited are done")
        assert_in_order(group.handled())
    failed = "".join(path.read_text() for path in tmp_path.rglob("failed_events.log"))
    assert not failed, "an absent registry fails no event"
    tell("registry killed with -9 for 3 s, 100 events of a schema not yet known: all done, none failed")
