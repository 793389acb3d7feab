"""A table that is sent again while it is written to, after statements that PostgreSQL does not send to anybody."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.connect.debezium import ValueFormat
from penstock.kafka.admin import Admin
from penstock.kafka.span import find_span, newest_span, read_span
from penstock.kafka.topic_state import list_topics
from tests.cdc_fixtures import MakeDatabase, run, wait_until
from tests.conftest import RunCommand
from tests.lake_queries import scan_delta
from tests.pipeline_files import PipelineFiles, lake_sink

STOCK = (
    "CREATE TABLE stock (id int PRIMARY KEY, n int, note text)",
    "INSERT INTO stock SELECT g, g, 'of ' || g FROM generate_series(1, 2500) g",
    "CREATE TABLE other (id int PRIMARY KEY)",
)
ALTERED = (
    "UPDATE stock SET note = 'before' WHERE id = 7",
    "ALTER TABLE stock ADD COLUMN places int NOT NULL DEFAULT 7",
    "ALTER TABLE stock ALTER n TYPE int USING n * 10",
    "ALTER TABLE stock RENAME note TO remark",
)
WRITES = (
    "INSERT INTO stock (id, n) VALUES ({new}, {new})",
    "UPDATE stock SET places = places + 1 WHERE id % 50 = {group}",
    "DELETE FROM stock WHERE id = {old}",
    "INSERT INTO stock (id, n) VALUES ({old}, -1)",
)
COLUMNS = ("id", "n", "places", "remark")
MARKS = 40
"""Rows that are written last: enough for every partition to get some of them."""


@contextmanager
def written_to(url: str) -> Iterator[None]:
    """Insert, update and delete until the block ends, some of it in transactions of many rows."""
    stop = threading.Event()

    def write() -> None:
        key = 10_000
        while not stop.is_set():
            key += 1
            run(url, *(statement.format(new=key, old=key % 1000 + 1000, group=key % 50) for statement in WRITES))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def settle(settings: Settings, url: str, topic: str, mark: int) -> None:
    """Wait until Kafka has all changes: the last one of each partition is of a row with this mark."""
    marked = f"INSERT INTO stock (id, n) SELECT g, {mark} FROM generate_series({-MARKS}, -1) g"  # noqa: S608 - numbers
    run(url, f"{marked} ON CONFLICT (id) DO UPDATE SET n = {mark}")

    def is_there() -> bool:
        newest = list(read_span(settings, newest_span(settings, [topic], 1)))
        return bool(newest) and all(f'"n":{mark},'.encode() in (record.value or b"") for record in newest)

    wait_until(is_there)


def stored(table: Path) -> list[tuple[Any, ...]]:
    """The rows as a reader other than Spark has them."""
    return sorted(tuple(row.get(name) for name in COLUMNS) for row in scan_delta(str(table)))


@pytest.mark.timeout(300)
def test_a_table_is_repaired_after_an_alter_table_while_it_is_written_to(  # noqa: PLR0917 - fixtures
    run_command: RunCommand,
    make_database: MakeDatabase,
    spark: SparkSession,
    capturing: Settings,
    capture_name: str,
    tmp_path: Path,
) -> None:
    url, topic = make_database(*STOCK), f"{capture_name}.public.stock"
    pipelines = PipelineFiles(spark, capturing, tmp_path)
    source = {"type": "kafka", "config": {"pattern": f"{capture_name}\\.public\\.", "format": "debezium"}}
    sink = lake_sink("shop/{table}", mode="mirror")
    file, mirror = pipelines.write(capture_name, source=source, sinks=[sink]), pipelines.lake / "shop" / "stock"
    assert run_command("cdc", "add", capture_name, "--database", url, "--tables", "public.*").code == 0
    run(url, *ALTERED)
    settle(capturing, url, topic, 900_001)
    assert pipelines.run(file) == {}
    now = f"SELECT {', '.join(COLUMNS)} FROM stock ORDER BY 1"  # noqa: S608 - constants
    assert stored(mirror) != run(url, now)

    with written_to(url):
        again = run_command("cdc", "resnapshot", capture_name, "public.stock")
    assert again.code == 0, again.err
    assert "sent all rows of public.stock again" in again.out
    settle(capturing, url, topic, 900_002)
    assert pipelines.run(file) == {}
    assert stored(mirror) == run(url, now)

    with Admin(capturing) as admin:
        topics = {each.name for each in list_topics(admin) if each.name.startswith(f"{capture_name}.")}
    assert topics - {f"{capture_name}.dead"} == {topic, f"{capture_name}.notifications"}
    status = json.loads(run_command("cdc", "status", capture_name, "--json").out)
    assert status["tables"] == ["public.other", "public.stock"]

    run(url, "TRUNCATE stock")
    settle(capturing, url, topic, 900_003)
    assert pipelines.run(file) == {}
    assert stored(mirror) == [(key, 900_003, 7, None) for key in range(-MARKS, 0)]
    assert run_command("cdc", "remove", capture_name, "--yes").code == 0
    assert run(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'penstock'") == []


@pytest.mark.parametrize("values", ["avro", "bare-json"])
def test_the_end_is_known_whatever_form_values_have(
    run_command: RunCommand, make_database: MakeDatabase, capturing: Settings, capture_name: str, values: ValueFormat
) -> None:
    url = make_database('CREATE TABLE "odd one" (id int PRIMARY KEY)', 'INSERT INTO "odd one" VALUES (1), (2)')
    add = ("cdc", "add", capture_name, "--database", url, "--tables", "public.*", "--values", values)
    assert run_command(*add).code == 0
    again = run_command("cdc", "resnapshot", capture_name, "odd one", "--wait", "60")
    assert again.code == 0, again.err
    assert again.out.startswith("sent all rows of public.odd one again")
    topic = f"{capture_name}.public.odd_one"
    assert len(list(read_span(capturing, find_span(capturing, [topic])))) == 4


def test_a_table_that_cannot_be_read_in_parts_is_refused(
    run_command: RunCommand, make_database: MakeDatabase, capture_name: str
) -> None:
    url = make_database(
        "CREATE TABLE plain (id int)",
        "ALTER TABLE plain REPLICA IDENTITY FULL",
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent)",
        'CREATE TABLE "odd (1)" (id int PRIMARY KEY)',
    )
    assert run_command("cdc", "add", capture_name, "--database", url, "--tables", "public.*").code == 0
    for table, reason in (
        ("public.plain", "has no primary key"),
        ("parent", "has child tables by INHERITS"),
        ("public.none", "is not captured"),
        ("odd (1)", "Debezium cannot be asked for public.odd (1)"),
    ):
        refused = run_command("cdc", "resnapshot", capture_name, table)
        assert refused.code == 2
        assert reason in refused.err
