"""Processes of one action's group, the events they get, and what the database says that they did."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import yaml
from psycopg import sql

from penstock import Producer
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.events.record import GroupName, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import PartitionId, committed_offsets
from penstock.kafka.topics import ensure_topic

PARTITIONS = 6
KEYS = 200
PATIENCE = 120.0
COLUMNS = "id bigserial PRIMARY KEY, part int, place bigint, key text, number bigint, process int"
QUICK = {"session.timeout.ms": 6000, "auto.offset.reset": "earliest"}

Place = tuple[int, int]


class Handled(NamedTuple):
    """One time that an event was handled, in the order of the database."""

    partition: int
    offset: int
    key: str
    number: int
    process: int

    @property
    def place(self) -> Place:
        return self.partition, self.offset


def wait_until(reached: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not reached():
        assert time.monotonic() < deadline, f"after {patience:.0f} s still not: {what}"
        time.sleep(0.1)


class ActionGroup:
    """A topic, a table, and processes of `penstock run` that share one file."""

    def __init__(self, settings: Settings, folder: Path, name: str, *, replication: int = 1) -> None:
        self.settings = settings
        self.name = name
        self.table = f"handled_{uuid.uuid4().hex[:8]}"
        self.members: list[subprocess.Popen[bytes]] = []
        self._folder = folder
        self._sent = 0
        self._database = psycopg.connect(settings.database.get_secret_value(), autocommit=True)
        self._database.execute(sql.SQL(f"CREATE TABLE {{}} ({COLUMNS})").format(sql.Identifier(self.table)))
        ensure_topic(settings, name, partitions=PARTITIONS, replication=replication)

    def write_file(self, *, wait: float = 0.0, source: dict[str, Any] | None = None, **options: Any) -> Path:
        """The pipeline's file: it records, with these options."""
        spec = {
            "name": self.name,
            "source": {
                "type": "kafka",
                "config": {
                    "connection": {"consumer_config": QUICK},
                    "topic_routes": {"steps": self.name},
                    **(source or {}),
                },
            },
            "action": {"type": "recording_action:Recording", "config": {"table": self.table, "wait": wait}},
            "options": {"retry_count": 50, "retry_backoff": 0.2, "retry_backoff_max": 1.0, **options},
        }
        path = self._folder / f"{self.name}.yaml"
        path.write_text(yaml.safe_dump(spec))
        return path

    def join(self, file: Path) -> subprocess.Popen[bytes]:
        """Start another member."""
        environment = {**client_environment(self.settings), "PYTHONPATH": str(Path(__file__).parent)}
        log = (self._folder / "members.log").open("ab")
        command = [sys.executable, "-m", "penstock", "run", str(file)]
        member = subprocess.Popen(command, env=environment, cwd=self._folder, stdout=log, stderr=log)
        log.close()
        self.members.append(member)
        return member

    def send(self, count: int) -> None:
        """Send so many more events, of all keys in turn."""
        numbers = range(self._sent, self._sent + count)
        with Producer(
            self.name, serializer=lambda value: json.dumps(value).encode(), settings=self.settings
        ) as producer:
            for number in numbers:
                key = f"key-{number % KEYS}"
                producer.send({"key": key, "number": number}, key=key)
        self._sent += count

    def handled(self) -> list[Handled]:
        """All that was done, in order."""
        query = sql.SQL("SELECT part, place, key, number, process FROM {} ORDER BY id").format(
            sql.Identifier(self.table)
        )
        return [Handled(*row) for row in self._database.execute(query).fetchall()]

    def wait_for_all(self, patience: float = PATIENCE) -> None:
        """Wait until every event that was sent is there."""
        query = sql.SQL("SELECT count(DISTINCT number) FROM {}").format(sql.Identifier(self.table))

        def count() -> int:
            row = self._database.execute(query).fetchone()
            return row[0] if row else 0

        try:
            wait_until(lambda: count() == self._sent, f"all of {self._sent:,} events are there", patience)
        except AssertionError as error:
            log = (self._folder / "members.log").read_text(errors="replace")[-3000:]
            raise AssertionError(f"{error}: {count():,}; the members' log ends with\n{log}") from None

    def uncommitted(self) -> set[Place]:
        """What was handled and is beyond the group's place, as the broker has it now."""
        partitions = [PartitionId(TopicName(self.name), Partition(number)) for number in range(PARTITIONS)]
        with Admin(self.settings) as admin:
            places = committed_offsets(admin, GroupName(self.name), partitions)
        reached = {int(place.partition): int(offset) for place, offset in places.items()}
        return {one.place for one in self.handled() if one.offset >= reached.get(one.partition, 0)}

    def close(self) -> None:
        """End every member, and drop the table."""
        for member in self.members:
            member.terminate()
        for member in self.members:
            member.wait(60)
        self._database.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(self.table)))
        self._database.close()


@contextmanager
def action_group(settings: Settings, folder: Path, name: str, *, replication: int = 1) -> Iterator[ActionGroup]:
    """A group whose processes have ended afterwards, whatever happened."""
    group = ActionGroup(settings, folder, name, replication=replication)
    try:
        yield group
    finally:
        group.close()


def repeated(handled: list[Handled]) -> set[Place]:
    """Events that were handled more than once."""
    return {place for place, times in Counter(one.place for one in handled).items() if times > 1}


def assert_in_order(handled: list[Handled]) -> None:
    """Each key's events were handled in the order in which they were sent: after each came its next, or a repeat.

    A repeat begins again at an earlier event, and goes on from there without leaving one out.
    """
    by_key: dict[str, list[int]] = defaultdict(list)
    for one in handled:
        by_key[one.key].append(one.number)
    wrong = {key: numbers for key, numbers in by_key.items() if not _goes_on(numbers)}
    assert not wrong, f"{len(wrong)} keys were handled out of order: {dict(islice(wrong.items(), 3))}"


def _goes_on(numbers: list[int]) -> bool:
    sent = sorted(set(numbers))
    following = dict(pairwise(sent))
    starts_well = numbers[:1] == sent[:1]
    return starts_well and all(after <= before or after == following.get(before) for before, after in pairwise(numbers))
