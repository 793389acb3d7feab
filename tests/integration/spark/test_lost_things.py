"""What a query does when something it relied on is gone: its state, its ledger, its topic, or unread records."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.errors import DataLost, LedgerLost, QueryInterrupted, TakenOver
from penstock.kafka.admin import Admin
from penstock.kafka.options import client_options
from penstock.kafka.topics import delete_topic
from penstock.spark.queries.position import Position
from penstock.spark.queries.query import Query
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, LakeFormat, events, finished, last_error, running, wait_until

MOUNT, UMOUNT = shutil.which("mount") or "mount", shutil.which("umount") or "umount"


@pytest.fixture
def filled(lake: Lake, create_topic: CreateTopic, fill: Fill) -> Lake:
    """A table with five events, and five more in the topic."""
    create_topic(1)
    fill(lake.topic, events(range(5)))
    lake.run()
    fill(lake.topic, events(range(5, 10)))
    return lake


def test_a_lost_state_costs_nothing_because_the_table_knows(filled: Lake) -> None:
    shutil.rmtree(filled.state)
    filled.run()
    assert filled.ids() == list(range(10))


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_lost_ledger_is_refused_because_nobody_knows_what_the_files_hold(filled: Lake) -> None:
    shutil.rmtree(filled.lake_table.internal)
    with pytest.raises(LedgerLost, match="their ledger is gone"):
        filled.run()
    assert filled.ids() == list(range(5))


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_topic_made_anew_stops_the_query_or_is_read_from_its_start(
    filled: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    remove_topic(filled)
    create_topic(1)
    fill(filled.topic, events(range(100, 107)))
    with pytest.raises(DataLost, match="deleted and made anew"):
        filled.run()
    filled.but(on_data_loss="continue").run()
    filled.run()
    assert filled.ids() == [*range(5), *range(100, 107)]


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_records_that_retention_removed_stop_the_query_or_are_passed_over(filled: Lake) -> None:
    remove_records(filled, 7)
    with pytest.raises(DataLost, match="retention removed offsets 5 to 6"):
        filled.run()
    filled.but(on_data_loss="continue").run()
    assert filled.ids() == [*range(5), 7, 8, 9]


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_topic_made_anew_while_it_is_read_is_noticed_though_it_has_more_records(
    filled: Lake, create_topic: CreateTopic, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_anew() -> None:
        remove_topic(filled)
        create_topic(1)
        fill(filled.topic, events(range(100, 120)))

    query = filled.query("0 seconds")
    after_a_batch(query, make_anew, monkeypatch)
    with running(query) as runner:
        wait_until(lambda: last_error(runner) == DataLost.code)
    assert filled.ids() == list(range(10))
    filled.but(on_data_loss="continue").run()
    assert filled.ids() == [*range(10), *range(100, 120)]


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_records_that_retention_removes_while_a_query_runs_are_passed_over_if_it_may_go_on(
    filled: Lake, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_two() -> None:
        fill(filled.topic, events(range(10, 15)))
        remove_records(filled, 12)

    query = filled.but(on_data_loss="continue").query("0 seconds")
    after_a_batch(query, lose_two, monkeypatch)
    with running(query):
        wait_until(lambda: 14 in filled.ids())
    assert filled.ids() == [*range(10), 12, 13, 14]


def test_a_driver_that_was_taken_for_dead_cannot_write(
    lake: Lake, lake_format: LakeFormat, create_topic: CreateTopic, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of its batch another driver starts, reads everything and ends; then it goes on."""
    create_topic(1)
    fill(lake.topic, events(range(5)))
    lake.run()
    fill(lake.topic, events(range(5, 10)))
    slow = lake.query()
    sink = slow.spec.path.sink
    step = "_moves" if lake_format == "parquet" else "_append"
    real, met = getattr(sink, step), list[str]()

    def late(*given: object) -> object:
        if slow.is_active and not met:
            met.append("another")
            lake.but(spark=lake.spark.newSession()).run()
        return real(*given)

    monkeypatch.setattr(sink, step, late)
    slow.start()
    assert isinstance(finished(slow), TakenOver)
    assert met
    assert lake.ids() == list(range(10))


def test_a_full_disk_stops_the_batch_and_room_lets_it_go_on(
    lake: Lake, create_topic: CreateTopic, fill: Fill, small_disk: Path
) -> None:
    create_topic(1)
    fill(lake.topic, [b'{"id": %d, "kind": "%s"}' % (number, random_text(20_000)) for number in range(30)])
    full = lake.but(location=str(small_disk / "lake"), partition_by=())
    with pytest.raises(QueryInterrupted, match="No space left"):
        full.run()
    assert full.rows() == []
    subprocess.run([MOUNT, "-o", "remount,size=20m", str(small_disk)], check=True)
    full.run()
    assert full.ids() == list(range(30))


def after_a_batch(query: Query, happens: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen between the first batch of a query and the next."""
    real, still = query.spec.state.save, [happens]

    def save(position: Position) -> None:
        real(position)
        if query.is_active and still:
            still.pop()()

    monkeypatch.setattr(query.spec.state, "save", save)


def remove_topic(lake: Lake) -> None:
    with Admin(lake.settings) as admin:
        delete_topic(admin, lake.topic)


def remove_records(lake: Lake, before: int) -> None:
    """Remove the records before an offset, as retention does."""
    admin, place = AdminClient(client_options(lake.settings)), TopicPartition(lake.topic, 0, before)
    admin.delete_records([place])[place].result(30)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 300 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = [MOUNT, "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run([UMOUNT, str(place)], check=True)


def random_text(size: int) -> bytes:
    """Text that does not get smaller by compression."""
    return secrets.token_hex(size // 2).encode()
