"""One of three members of a group dies by -9 in the middle: nothing is lost, and only what was uncommitted repeats."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import Producer
from penstock.config import Settings
from penstock.events.record import GroupName, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import PartitionId, committed_offsets, end_offsets
from penstock.kafka.topics import ensure_topic

MEMBERS = 3
PARTITIONS = 6
KEYS = 500
PATIENCE = 120.0
LAST_REQUESTS_SECONDS = 0.5
"""What the dead member had sent reaches the broker; long before its session ends and others get its partitions."""

MEMBER = Path(__file__).with_name("group_member.py")

Place = tuple[int, int]


class Member:
    """A process of the group, and its notes."""

    def __init__(self, settings: Settings, topic: str, notes: Path) -> None:
        addresses = {"PENSTOCK_BOOTSTRAP": settings.bootstrap, "PENSTOCK_REGISTRY": settings.registry}
        self._notes = notes
        command = [sys.executable, str(MEMBER), topic, str(notes)]
        self.process = subprocess.Popen(command, env={**os.environ, **addresses})

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self._notes.read_text().splitlines()] if self._notes.exists() else []

    def has_its_share(self) -> bool:
        assignments = [int(number) for word, number in self.lines() if word == "assigned"]
        return assignments[-1:] == [PARTITIONS // MEMBERS]

    def processed(self) -> list[Place]:
        return [(int(word), int(number)) for word, number in self.lines() if word != "assigned"]


@contextmanager
def group(settings: Settings, topic: str, folder: Path) -> Iterator[list[Member]]:
    members = [Member(settings, topic, folder / f"{topic}-{number}") for number in range(MEMBERS)]
    try:
        yield members
    finally:
        for member in members:
            member.process.terminate()
        for member in members:
            member.process.wait(60)


def wait_until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline, f"after {PATIENCE:.0f} s still not: {what}"
        time.sleep(0.1)


def send(settings: Settings, topic: str, records: int) -> set[Place]:
    """Send keyed records; gives the place of each."""
    with Producer(topic, '"long"', settings=settings) as producer:
        for number in range(records):
            producer.send(number, key=f"key-{number % KEYS}")
    with Admin(settings) as admin:
        ends = end_offsets(admin, partitions(topic))
    assert sum(ends.values()) == records
    return {(int(end.partition), offset) for end, last in ends.items() for offset in range(last)}


def uncommitted(settings: Settings, topic: str, done: list[Place]) -> set[Place]:
    """What was processed of it is beyond the group's place, as the broker has it."""
    with Admin(settings) as admin:
        places = committed_offsets(admin, GroupName(topic), partitions(topic))
    reached = {int(place.partition): int(offset) for place, offset in places.items()}
    return {(partition, offset) for partition, offset in done if offset >= reached.get(partition, 0)}


def partitions(topic: str) -> list[PartitionId]:
    return [PartitionId(TopicName(topic), Partition(number)) for number in range(PARTITIONS)]


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_killed_member_costs_no_record_and_repeats_only_what_was_uncommitted(
    settings: Settings, topic: str, rounds: int, tell: Callable[[str], None], tmp_path: Path
) -> None:
    for number in range(max(rounds, 1)):
        name = f"{topic}-{number}"
        ensure_topic(settings, name, partitions=PARTITIONS)
        with group(settings, name, tmp_path) as members:
            tell(kill_one(settings, name, members, 50_000 if rounds else 20_000))


def kill_one(settings: Settings, topic: str, members: list[Member], records: int) -> str:
    wait_until(lambda: all(member.has_its_share() for member in members), "every member has its partitions")
    sent = send(settings, topic, records)
    victim, *survivors = members
    wait_until(lambda: len(victim.processed()) > records / MEMBERS * 0.4, "the victim is in the middle")
    victim.process.kill()
    victim.process.wait()
    time.sleep(LAST_REQUESTS_SECONDS)
    done = victim.processed()
    open_ends = uncommitted(settings, topic, done)
    wait_until(lambda: not sent.difference(done, *(member.processed() for member in survivors)), "all is read")
    read = Counter(done) + Counter(place for member in survivors for place in member.processed())
    repeated = {place for place, times in read.items() if times > 1}
    assert repeated <= open_ends, "what was committed is not read again"
    assert max(read.values()) <= 2
    return (
        f"killed 1 of {MEMBERS} members with -9 after {len(done):,} of its records, {records:,} sent:"
        f" lost {len(sent - read.keys())}, repeated {len(repeated)} of {len(open_ends)} that were uncommitted"
    )
