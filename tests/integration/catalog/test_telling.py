from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import Consumer
from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.merge import merge
from penstock.catalog.staging.tables import COMPACTION, DISTCP, JOB_EXECUTION, METADATA_CHANGE
from penstock.catalog.staging.writer import stage
from penstock.catalog.telling.messages import CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC
from penstock.catalog.telling.outbox import Sender
from penstock.config import Settings
from penstock.kafka.admin import Admin
from penstock.kafka.configs import alter_topic_settings
from tests.integration.catalog.events import change, copy, execution, fields, load, owners, rows_of, urn

BEGAN = datetime.now(UTC)
"""What was told before these tests is not read."""


class Stopped(Exception):
    """A crash at a chosen place."""


@pytest.fixture
def sender(database: Database, catalog_settings: Settings) -> Iterator[Sender]:
    with Sender(database, catalog_settings) as opened:
        yield opened


def read(settings: Settings, topic: str, name: str) -> list[Any]:
    """The messages of a topic about the dataset of this name."""
    with Consumer(topic, start=BEGAN, timeout=2, key_type="string", settings=settings) as records:
        return [record for record in records if record.key == urn(name)]


def events_of(settings: Settings, name: str) -> list[tuple[str, str]]:
    messages = read(settings, PLATFORM_EVENT_TOPIC, name)
    payloads = [json.loads(message.value["payload"]["value"]) for message in messages]
    return [(payload["category"], payload["operation"]) for payload in payloads]


def test_changes_are_told_in_the_order_in_which_they_were_committed(
    database: Database, sender: Sender, settings: Settings, topic: str
) -> None:
    take(
        database, METADATA_CHANGE, [change(1000, name=topic, schema_fields=fields("id", "page"), owners=owners("ann"))]
    )
    take(
        database,
        METADATA_CHANGE,
        [change(2000, name=topic, schema_fields=fields("id"), owners=owners("bob"), tags=["pii"])],
    )
    take(database, METADATA_CHANGE, [change(3000, name=topic, change_type="DELETE")])
    assert sender.send_all() > 0
    assert sender.send_all() == 0
    assert events_of(settings, topic) == [
        ("LIFECYCLE", "CREATE"),
        ("TECHNICAL_SCHEMA", "ADD"),
        ("TECHNICAL_SCHEMA", "ADD"),
        ("OWNER", "ADD"),
        ("TECHNICAL_SCHEMA", "REMOVE"),
        ("OWNER", "ADD"),
        ("OWNER", "REMOVE"),
        ("TAG", "ADD"),
        ("LIFECYCLE", "SOFT_DELETE"),
    ]
    logs = read(settings, CHANGE_LOG_TOPIC, topic)
    aspects = [log.value["aspectName"] for log in logs]
    assert aspects == [
        "datasetKey",
        "status",
        "schemaMetadata",
        "ownership",
        "schemaMetadata",
        "ownership",
        "globalTags",
        "status",
    ]


def test_a_change_that_was_rolled_back_is_never_told(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as connection:
            stage(connection, METADATA_CHANGE, [change(1000)])
            merge(connection)
            raise Stopped

    with pytest.raises(Stopped):
        fail()
    assert rows_of(database, "SELECT count(*) FROM outbox") == [(0,)]


def test_a_sender_that_dies_before_the_end_tells_again(
    database: Database, sender: Sender, settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(database, METADATA_CHANGE, [change(1000, name=topic, tags=["a"])])
    flush = sender._platform_event.flush

    def die() -> None:
        flush()
        raise Stopped

    monkeypatch.setattr(sender._platform_event, "flush", die)
    with pytest.raises(Stopped):
        sender.send()
    monkeypatch.undo()
    sender.send_all()
    assert events_of(settings, topic) == [("LIFECYCLE", "CREATE"), ("TAG", "ADD")] * 2
    numbers = [dict(message.headers)["penstock.change"] for message in read(settings, PLATFORM_EVENT_TOPIC, topic)]
    assert numbers[: len(numbers) // 2] == numbers[len(numbers) // 2 :]


def test_late_and_repeated_events_are_not_told_as_changes(database: Database) -> None:
    take(database, METADATA_CHANGE, [change(2000, schema_fields=fields("b"), offset=0)])
    outbox = "SELECT count(*) FROM outbox"
    [before] = rows_of(database, outbox)
    take(database, METADATA_CHANGE, [change(2000, schema_fields=fields("b"), offset=0)])
    take(database, METADATA_CHANGE, [change(2500, schema_fields=fields("b"), offset=1)])
    take(database, METADATA_CHANGE, [change(1000, schema_fields=fields("a"), owners=owners(), offset=2)])
    assert rows_of(database, "SELECT max(version) FROM dataset_schema") == [(2,)]
    assert rows_of(database, outbox) == [before]


def test_a_copy_that_turns_out_to_be_a_transformation_is_told(database: Database) -> None:
    take(database, DISTCP, [copy(1000, "/data/in", "/data/out")])
    ends = {"input_datasets": [urn("/data/in", "hdfs")], "output_datasets": [urn("/data/out", "hdfs")]}
    for at in (2000, 3000):
        take(database, JOB_EXECUTION, [execution(at, "SUCCEEDED", **ends)])
    told = "SELECT before #>> '{0,type}', after #>> '{0,type}' FROM outbox WHERE aspect = 'upstreamLineage' ORDER BY id"
    assert rows_of(database, told) == [(None, "COPY"), ("COPY", "TRANSFORMED")]


def test_a_load_is_told_with_its_count_and_the_one_before(database: Database) -> None:
    take(
        database,
        COMPACTION,
        [load(1000, "2016/07/10", 100), load(2000, "2016/07/11", 40), load(2000, "2016/07/11", 40)],
    )
    told = rows_of(
        database, "SELECT after -> 'recordCount', after -> 'recordCountBefore' FROM outbox WHERE aspect = 'load'"
    )
    assert told == [(100, None), (40, 100)]


@pytest.mark.parametrize(
    ("batches", "told"),
    [
        pytest.param(
            [[(1, "a", 10), (2, "b", 20)], [(3, "c", 30), (4, "d", 40)]],
            [(10, None), (20, 10), (30, 20), (40, 30)],
            id="that goes on",
        ),
        pytest.param(
            [[(1, "a", 10), (5, "c", 30)], [(3, "b", 20), (6, "d", 40)]],
            [(10, None), (20, 10), (30, 10), (40, 30)],
            id="with a late load",
        ),
        pytest.param(
            [[(1, "a", 10), (2, "b", 20)], [(3, "b", 21), (4, "c", 30)]],
            [(10, None), (20, 10), (21, 10), (30, 21)],
            id="with a partition loaded again",
        ),
        pytest.param(
            [[(1, "a", 10), (2, "b", 20), (2, "c", 30)]],
            [(10, None), (20, 10), (30, 10)],
            id="with two loads in one moment",
        ),
        pytest.param([[(2, "a", 10)], [(1, "a", 9)]], [(10, None)], id="with a load that is known to be outdated"),
    ],
)
def test_each_load_of_a_series_is_told_with_the_count_before_it(
    database: Database, batches: list[list[tuple[int, str, int]]], told: list[tuple[int, int | None]]
) -> None:
    for batch in batches:
        take(database, COMPACTION, [load(at, partition, count) for at, partition, count in batch])
    query = "SELECT after -> 'recordCount', after -> 'recordCountBefore' FROM outbox WHERE aspect = 'load' ORDER BY 1"
    assert rows_of(database, query) == told


def test_each_status_of_an_execution_is_told_also_those_that_come_in_one_batch(database: Database) -> None:
    took = [execution(at, status) for at, status in ((3, "SUCCEEDED"), (1, "STARTED"), (2, "RUNNING"), (2, "RUNNING"))]
    take(database, JOB_EXECUTION, took)
    told = "SELECT before #>> '{}', after ->> 'status' FROM outbox WHERE aspect = 'run' ORDER BY id"
    expected = [(None, "STARTED"), ("STARTED", "RUNNING"), ("RUNNING", "SUCCEEDED")]
    assert rows_of(database, told) == expected
    take(database, JOB_EXECUTION, took)
    take(database, JOB_EXECUTION, [execution(1, "WAIT_FOR_DATA"), execution(4, "SUCCEEDED")])
    assert rows_of(database, told) == expected


def test_a_change_that_kafka_can_never_take_is_kept_aside(database: Database, sender: Sender, topic: str) -> None:
    many = fields(*(f"field_{'x' * 180}_{number}" for number in range(4000)))
    take(database, METADATA_CHANGE, [change(1000, name=topic, schema_fields=many), change(2000, name=f"{topic}.b")])
    sender.send_all()
    assert rows_of(database, "SELECT aspect FROM outbox_refused") == [("schemaMetadata",)]


def test_a_change_that_only_the_broker_finds_too_large_is_kept_aside_and_the_others_are_told(
    database: Database, sender: Sender, settings: Settings, topic: str
) -> None:
    many = fields(*(uuid.uuid4().hex for _ in range(3000)))  # names that no compression makes small
    rows = [change(1000, name=f"{topic}.{part}", tags=["a"]) for part in ("a", "c")]
    take(database, METADATA_CHANGE, [*rows, change(1000, name=f"{topic}.b", schema_fields=many)])
    with Admin(settings) as admin:
        alter_topic_settings(admin, CHANGE_LOG_TOPIC, {"max.message.bytes": "20000"})
        try:
            sender.send_all()
        finally:
            alter_topic_settings(admin, CHANGE_LOG_TOPIC, {"max.message.bytes": None})
    refused = "SELECT substring(urn, '[abc],PROD'), aspect, reason LIKE '%too large%' FROM outbox_refused"
    assert rows_of(database, refused) == [("b,PROD", "schemaMetadata", True)]
    assert rows_of(database, "SELECT count(*) FROM outbox") == [(0,)]
    for part in ("a", "c"):
        aspects = {log.value["aspectName"] for log in read(settings, CHANGE_LOG_TOPIC, f"{topic}.{part}")}
        assert aspects == {"datasetKey", "status", "globalTags"}
