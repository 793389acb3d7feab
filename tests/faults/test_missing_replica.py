"""A broker is killed: the commands show what is missing, and go on working while a group's coordinator moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster, read_layouts
from penstock.kafka.groups import describe_group
from penstock.kafka.offsets import PartitionId, commit_offsets
from penstock.kafka.topic_state import list_topics
from penstock.kafka.topics import create_topic
from tests.conftest import RunCommand, Running

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

PATIENCE = 60
REPLICATION_SECONDS = 2
"""A new coordinator knows a commit only once the followers have heard that all of them have it."""


@pytest.fixture
def admin(cluster: Running) -> Iterator[Admin]:
    with Admin(cluster.settings) as connected:
        yield connected


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.3)


def test_a_killed_brokers_replicas_are_shown_as_missing_until_it_is_back(
    cluster: Running, admin: Admin, topic: str, run_command: RunCommand
) -> None:
    create_topic(admin, topic, partitions=3, replication=3)

    def missing() -> set[int]:
        return {broker for layout in read_layouts(admin, topic) for broker in layout.missing}

    cluster.kill("kafka-3")
    wait_until(lambda: missing() == {3})
    described = run_command("topics", "describe", topic, bootstrap=cluster.settings.bootstrap)
    assert described.out.count("missing: 3") == 3
    assert {summary.name: summary.under_replicated for summary in list_topics(admin)}[topic] == 3
    assert [broker.id for broker in read_cluster(admin).brokers] == [1, 2]
    cluster.restart("kafka-3")
    wait_until(lambda: not missing())


def test_a_group_is_found_again_after_its_coordinator_was_killed(cluster: Running, admin: Admin, topic: str) -> None:
    create_topic(admin, topic, partitions=1, replication=3)
    group, place = GroupName(f"{topic}-group"), PartitionId(TopicName(topic), Partition(0))
    commit_offsets(admin, group, {place: Offset(0)})
    killed = describe_group(admin, group).coordinator.split()[1]
    time.sleep(REPLICATION_SECONDS)
    cluster.kill(f"kafka-{killed}")
    found = describe_group(admin, group)
    assert found.coordinator.split()[1] != killed
    assert [place.committed for place in found.places] == [0]
    cluster.restart(f"kafka-{killed}")
