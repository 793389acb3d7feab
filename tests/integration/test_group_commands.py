"""`penstock groups` as a person meets it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Consumer as BareConsumer

from penstock.config import Settings
from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.groups import Group, describe_group
from penstock.kafka.offsets import PartitionId, commit_offsets, committed_offsets
from penstock.kafka.options import client_options

RECORDS = 30


@pytest.fixture
def group(topic: str) -> str:
    return f"{topic}-group"


@pytest.fixture
def place(settings: Settings, topic: str, group: str, create_topic: Any, fill: Any) -> Callable[..., dict[int, int]]:
    """Two partitions of 30 records each; set or read the group's offsets there."""
    create_topic(2)
    fill(topic, [b"x"] * RECORDS, partition=0)
    fill(topic, [b"x"] * RECORDS, partition=1)
    parts = [PartitionId(TopicName(topic), Partition(number)) for number in (0, 1)]

    def at(*offsets: int) -> dict[int, int]:
        with Admin(settings) as admin:
            if offsets:
                wanted = {part: Offset(offset) for part, offset in zip(parts, offsets, strict=False)}
                commit_offsets(admin, GroupName(group), wanted)
            found = committed_offsets(admin, GroupName(group), parts)
        return {part.partition: offset for part, offset in found.items()}

    return at


@pytest.fixture
def three_members(settings: Settings, topic: str, group: str, place: Any) -> Iterator[None]:
    """A group of three on a topic of two partitions, once partitions are given out."""
    place(10, 20)
    options = client_options(settings, group__id=group, client__id="worker", enable__auto__commit=False)
    with ExitStack() as stack, Admin(settings) as admin:
        members = [stack.enter_context(closing(BareConsumer(options))) for _ in range(3)]
        for member in members:
            member.subscribe([topic])
        deadline = time.monotonic() + 60
        while not _settled(describe_group(admin, group)) and time.monotonic() < deadline:
            for member in members:
                member.poll(0.1)
        yield


def _settled(found: Group) -> bool:
    return found.state == "stable" and len(found.members) == 3


@pytest.mark.usefixtures("three_members")
def test_a_group_shows_coordinator_state_members_and_lag(run_command: Any, group: str, topic: str) -> None:
    lines = run_command("groups", "show", group).lines
    assert lines[0].startswith(f"{group}: stable, classic protocol, assignor range, coordinator broker 1 (")
    assert lines[0].endswith("lag 30")
    assert {line.split()[-1] for line in lines if " worker 127.0.0.1 " in line} == {f"{topic}/0", f"{topic}/1", "idle"}
    assert f"{topic} 0 10 30 20" in lines
    assert f"{topic} 1 20 30 10" in lines


@pytest.mark.usefixtures("three_members")
def test_members_beyond_the_partitions_are_pointed_out(run_command: Any, group: str) -> None:
    shown = run_command("groups", "show", group)
    assert "1 of 3 members idle: the group reads 2 partitions, and each goes to one member only" in shown.out
    found = json.loads(run_command("groups", "show", group, "--json").out)
    assert sorted(member["idle"] for member in found["members"]) == [False, False, True]


@pytest.mark.usefixtures("three_members")
def test_a_group_with_running_members_is_not_reset(run_command: Any, group: str, place: Any) -> None:
    dry = run_command("groups", "reset", group, "--to", "earliest")
    assert dry.code == 0
    assert "3 running members: the group can be moved only after they have stopped" in dry.out
    refused = run_command("groups", "reset", group, "--to", "earliest", "--execute")
    assert refused.code == 1
    assert f"error kafka.group_busy group '{group}' has 3 running: worker at 127.0.0.1" in refused.err
    assert place() == {0: 10, 1: 20}


def test_groups_are_listed_with_state_members_and_lag(run_command: Any, group: str, place: Any) -> None:
    place(10, 20)
    assert f"{group} empty classic 0 30" in run_command("groups", "list").lines
    listed = {item["name"]: item for item in json.loads(run_command("groups", "list", "--json").out)}
    assert listed[group] == {"name": group, "state": "empty", "protocol": "classic", "members": 0, "lag": 30}


def test_a_reset_is_a_dry_run_first(run_command: Any, group: str, topic: str, place: Any) -> None:
    place(10, 20)
    dry = run_command("groups", "reset", group, "--to", "latest")
    assert f"{topic} 0 10 30 +20 0" in dry.lines
    assert dry.out.splitlines()[-1] == "nothing was changed; add --execute to do it"
    assert place() == {0: 10, 1: 20}


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("earliest", {0: 0, 1: 0}),
        ("latest", {0: 30, 1: 30}),
        ("15", {0: 15, 1: 15}),
        ("+15", {0: 25, 1: 30}),
        ("-15", {0: 0, 1: 5}),
        ("1h ago", {0: 0, 1: 0}),
        ("0s ago", {0: 30, 1: 30}),
    ],
)
def test_a_group_goes_where_it_is_sent(
    run_command: Any, group: str, place: Any, to: str, expected: dict[int, int]
) -> None:
    place(10, 20)
    assert run_command("groups", "reset", group, "--to", to, "--execute").code == 0
    assert place() == expected


def test_a_reset_may_be_of_one_partition_only(run_command: Any, group: str, topic: str, place: Any) -> None:
    place(10, 20)
    only = ("--topic", topic, "--partition", 1)
    assert run_command("groups", "reset", group, "--to", "earliest", *only, "--execute").code == 0
    assert place() == {0: 10, 1: 0}


def test_a_shift_leaves_partitions_without_an_offset_alone(run_command: Any, group: str, place: Any) -> None:
    place(10)
    assert run_command("groups", "reset", group, "--to", "+1", "--execute").code == 0
    assert place() == {0: 11}


def test_an_unknown_group_is_refused_with_the_closest_name(run_command: Any, group: str, place: Any) -> None:
    place(10, 20)
    for words in (("show", f"{group}x"), ("reset", f"{group}x", "--to", "earliest")):
        refused = run_command("groups", *words)
        assert refused.code == 1
        assert f"error kafka.group_not_found there is no group '{group}x'" in refused.err
        assert f"did you mean {group}?" in refused.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--to somewhere", "'somewhere' is nowhere a group can go"),
        ("--to 0 --partition 1", "a partition needs the one topic that it belongs to"),
        ("--to 0 --topic TOPIC --partition 9", "TOPIC has no partition 9"),
        ("--to 0 --topic TOPICx", "there is no topic 'TOPICx'"),
    ],
)
def test_a_reset_to_nowhere_is_refused(run_command: Any, topic: str, place: Any, options: str, words: str) -> None:
    place(10, 20)
    refused = run_command("groups", "reset", f"{topic}-group", *options.replace("TOPIC", topic).split(), "--execute")
    assert refused.code
    assert words.replace("TOPIC", topic) in refused.err
    assert place() == {0: 10, 1: 20}
