"""Administration of a secured cluster by settings alone: a refusal names the right that is lacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from penstock.config import PassThrough, Settings
from penstock.errors import AuthenticationFailed, KafkaRefused, NotAuthorized
from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import BrokerId, read_cluster
from penstock.kafka.configs import alter_topic_settings, broker_settings
from penstock.kafka.groups import describe_group, list_groups
from penstock.kafka.load import Load
from penstock.kafka.measure import measure_partition
from penstock.kafka.offsets import PartitionId, commit_offsets, committed_offsets
from penstock.kafka.topic_state import describe_topic, list_topics
from penstock.kafka.topics import add_partitions, create_topic, delete_topic

Users = Callable[[str], Settings]

LOAD = Load([b"x" * 100], batch_bytes=1000, compression="none", acks="all", replication=1)
ATTEMPTS: dict[str, tuple[str, Callable[[Admin, str], object]]] = {
    "create": ("CREATE on topic 'TOPIC'", create_topic),
    "delete": ("DELETE on topic 'TOPIC'", delete_topic),
    "add partitions": ("ALTER on topic 'TOPIC'", lambda admin, topic: add_partitions(admin, topic, 9)),
    "alter": (
        "ALTER_CONFIGS on topic 'TOPIC'",
        lambda admin, topic: alter_topic_settings(admin, topic, {"retention.ms": "1"}),
    ),
    "describe": ("DESCRIBE on topic 'TOPIC'", describe_topic),
    "broker settings": ("DESCRIBE_CONFIGS on cluster", lambda admin, _topic: broker_settings(admin, [BrokerId(1)])),
    "group": ("DESCRIBE on group 'TOPIC'", describe_group),
    "plan": ("CREATE on topic 'penstock-plan-", lambda admin, _topic: measure_partition(admin, LOAD, 1, print)),
    "committed": (
        "DESCRIBE on group 'TOPIC'",
        lambda admin, topic: committed_offsets(admin, GroupName(topic), [PartitionId(TopicName(topic), Partition(0))]),
    ),
    "commit": (
        "READ on group 'TOPIC'",
        lambda admin, topic: commit_offsets(
            admin, GroupName(topic), {PartitionId(TopicName(topic), Partition(0)): Offset(0)}
        ),
    ),
}


@pytest.fixture
def root(secured: Users) -> Iterator[Admin]:
    with Admin(secured("admin")) as connected:
        yield connected


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_who_lacks_a_right_is_told_which(secured: Users, root: Admin, topic: str, attempt: str) -> None:
    right, call = ATTEMPTS[attempt]
    if attempt != "create":
        create_topic(root, topic)
    with Admin(secured("app")) as admin, pytest.raises(NotAuthorized) as refused:
        call(admin, topic)
    assert f"user 'app' lacks {right.replace('TOPIC', topic)}" in refused.value.message


def test_who_may_everything_is_refused_nothing(root: Admin, topic: str) -> None:
    create_topic(root, topic, partitions=2)
    add_partitions(root, topic, 3)
    state = describe_topic(root, topic)
    assert [part.size for part in state.partitions] == [0, 0, 0]
    assert state.notes == ()
    delete_topic(root, topic)


def test_a_topic_is_described_as_far_as_the_user_may_see_it(secured: Users, root: Admin, topic: str) -> None:
    create_topic(root, f"app.{topic}")
    with Admin(secured("app")) as admin:
        state = describe_topic(admin, f"app.{topic}")
    assert [part.records for part in state.partitions] == [0]
    assert [part.size for part in state.partitions] == [None]
    assert [note.split(": ")[1] for note in state.notes] == [
        "user 'app' lacks DESCRIBE on cluster",
        f"user 'app' lacks DESCRIBE_CONFIGS on topic 'app.{topic}'",
    ]


def test_lists_hold_what_the_user_may_see(secured: Users, root: Admin, topic: str) -> None:
    for name in (topic, f"app.{topic}"):
        create_topic(root, name)
        commit_offsets(root, GroupName(name), {PartitionId(TopicName(name), Partition(0)): Offset(0)})
    with Admin(secured("app")) as admin:
        seen = {found.name for found in list_topics(admin)} | {found.name for found in list_groups(admin)}
    assert f"app.{topic}" in seen
    assert topic not in seen


def test_a_wrong_password_is_told_as_such(secured: Users) -> None:
    mine = secured("app")
    wrong = mine.model_copy(update={"kafka": PassThrough({**mine.kafka, "sasl.password": "wrong"})})
    with Admin(wrong) as admin, pytest.raises(AuthenticationFailed, match="invalid credentials"):
        read_cluster(admin)


def test_an_unencrypted_client_is_told_to_look_at_its_protocol(secured: Users) -> None:
    plain = secured("app").model_copy(update={"kafka": PassThrough({})})
    with Admin(plain) as admin, pytest.raises(KafkaRefused) as refused:
        read_cluster(admin)
    assert "security.protocol" in refused.value.hint
