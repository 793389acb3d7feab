"""Administrative calls of the library against the real broker."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.config import Settings
from penstock.errors import BrokerUnavailable, KafkaRefused, TopicExists, TopicNotFound, UsageError
from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster, read_layouts
from penstock.kafka.offsets import (
    PartitionId,
    commit_offsets,
    committed_offsets,
    end_offsets,
    first_offsets,
    offsets_at,
)
from penstock.kafka.topic_state import describe_topic
from penstock.kafka.topics import create_topic, delete_topic, ensure_topic


@pytest.fixture
def admin(settings: Settings) -> Iterator[Admin]:
    with Admin(settings) as connected:
        yield connected


def partition(topic: str, number: int = 0) -> PartitionId:
    return PartitionId(TopicName(topic), Partition(number))


def test_a_topic_is_there_with_leaders_as_soon_as_it_is_created(admin: Admin, topic: str) -> None:
    create_topic(admin, topic, partitions=4)
    assert [layout.leader is not None for layout in read_layouts(admin, topic)] == [True] * 4


def test_creating_a_topic_twice_is_refused_and_ensuring_it_is_not(admin: Admin, topic: str) -> None:
    assert ensure_topic(admin.settings, topic, partitions=2)
    assert not ensure_topic(admin.settings, topic, partitions=5)
    assert len(read_layouts(admin, topic)) == 2
    with pytest.raises(TopicExists, match=topic):
        create_topic(admin, topic)


def test_an_unknown_topic_is_refused_with_the_closest_name(admin: Admin, topic: str) -> None:
    create_topic(admin, topic)
    for call in (read_layouts, delete_topic, describe_topic):
        with pytest.raises(TopicNotFound, match=f"there is no topic '{topic}x'") as refused:
            call(admin, f"{topic}x")
        assert refused.value.hint == f"did you mean {topic}?"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"replication": 99}, "target replication factor of 99 cannot be reached"),
        ({"partitions": 0}, "partitions"),
        ({"settings": {"retention": "1"}}, "Unknown topic config name: retention"),
        ({"settings": {"retention.ms": "soon"}}, "Invalid value soon for configuration retention.ms"),
    ],
)
def test_a_topic_that_cannot_be_is_refused_by_what_is_wrong(
    admin: Admin, topic: str, wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        create_topic(admin, topic, **wrong)
    assert f"creating topic '{topic}'" in refused.value.message
    assert refused.value.hint


def test_a_name_that_kafka_does_not_take_is_refused(admin: Admin) -> None:
    with pytest.raises(UsageError, match="contains one or more characters other than"):
        create_topic(admin, "no spaces")


def test_offsets_lie_between_the_first_and_the_next_record(admin: Admin, topic: str, fill: Any) -> None:
    create_topic(admin, topic, partitions=2)
    fill(topic, [b"a", b"b", b"c"], partition=1)
    both = [partition(topic, 0), partition(topic, 1)]
    assert first_offsets(admin, both) == {partition(topic, 0): 0, partition(topic, 1): 0}
    assert end_offsets(admin, both) == {partition(topic, 0): 0, partition(topic, 1): 3}


def test_a_time_falls_on_the_first_record_as_young_or_on_the_end(admin: Admin, topic: str, fill: Any) -> None:
    create_topic(admin, topic)
    noon = datetime.now(UTC) - timedelta(hours=1)
    for minute in range(3):
        fill(topic, [b"x"], timestamp=int((noon + timedelta(minutes=minute)).timestamp() * 1000))
    where = partition(topic)
    assert offsets_at(admin, [where], noon + timedelta(seconds=30)) == {where: 1}
    assert offsets_at(admin, [where], noon + timedelta(minutes=30)) == {where: 3}


def test_committed_offsets_are_what_was_committed(admin: Admin, topic: str) -> None:
    create_topic(admin, topic, partitions=2)
    group, where = GroupName(f"{topic}-group"), partition(topic, 1)
    both = [partition(topic, 0), where]
    assert committed_offsets(admin, group, both) == {}
    commit_offsets(admin, group, {where: Offset(7)})
    assert committed_offsets(admin, group, both) == {where: 7}


def test_no_partitions_are_no_question(admin: Admin) -> None:
    assert end_offsets(admin, []) == {}
    assert committed_offsets(admin, GroupName("anybody"), []) == {}


def test_sizes_on_disk_are_the_brokers_own(admin: Admin, topic: str, fill: Any) -> None:
    create_topic(admin, topic, partitions=2)
    fill(topic, [b"x" * 10_000], partition=0)
    full, empty = describe_topic(admin, topic).partitions
    assert full.size is not None
    assert full.size > 10_000
    assert empty.size == 0


def test_no_broker_is_told_long_before_the_time_out(settings: Settings) -> None:
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="Connection refused") as refused:
        read_cluster(Admin(settings.model_copy(update={"bootstrap": "localhost:1", "timeout": 30})))
    assert time.monotonic() - started < 10
    assert "penstock up" in refused.value.hint
    assert refused.value.details["bootstrap"] == "localhost:1"


def test_a_host_without_an_address_is_told(settings: Settings) -> None:
    with pytest.raises(BrokerUnavailable, match=r"nowhere\.invalid") as refused:
        read_cluster(Admin(settings.model_copy(update={"bootstrap": "nowhere.invalid:9092"})))
    assert "host name" in refused.value.hint


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where connections are taken and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_an_address_that_never_answers_ends_at_the_time_out(settings: Settings, silent_port: int) -> None:
    started = time.monotonic()
    changed = settings.model_copy(update={"bootstrap": f"127.0.0.1:{silent_port}", "timeout": 2})
    with Admin(changed) as nobody, pytest.raises(BrokerUnavailable, match="no answer within 2 s"):
        read_cluster(nobody)
    assert 1 < time.monotonic() - started < 4


@pytest.fixture
def http_port() -> Iterator[int]:
    """A port where a web server answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer_like_http, args=(server,), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _answer_like_http(server: socket.socket) -> None:
    try:
        while True:
            caller, _ = server.accept()
            with caller:
                caller.recv(1000)
                caller.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    except OSError:
        return


def test_an_address_that_is_not_kafka_is_told(settings: Settings, http_port: int) -> None:
    with pytest.raises(KafkaRefused) as refused:
        read_cluster(Admin(settings.model_copy(update={"bootstrap": f"127.0.0.1:{http_port}"})))
    assert "not Kafka" in refused.value.hint
