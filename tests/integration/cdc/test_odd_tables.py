"""Tables of which not everything is sent: refused, noted, and captured without rows of other tables."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from penstock.config import Settings
from penstock.connect.postgres import TableName
from penstock.kafka.admin import Admin
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topic_state import list_topics
from penstock.lake.lake import Lake
from penstock.pipelines.verify.compare import verify
from tests.cdc_fixtures import MakeDatabase, run, wait_until
from tests.conftest import RunCommand

ODD = (
    "CREATE TABLE sales (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE sales_2025 PARTITION OF sales FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
    "INSERT INTO sales VALUES (1, '2025-05-05')",
    "CREATE TABLE people (id int PRIMARY KEY, name text, loud text GENERATED ALWAYS AS (upper(name)) STORED)",
    "CREATE TABLE staff (PRIMARY KEY (id)) INHERITS (people)",
    "INSERT INTO people (id, name) VALUES (1, 'Ada')",
    "INSERT INTO staff (id, name) VALUES (2, 'Grace')",
)


def test_tables_that_share_a_topic_or_hide_their_key_are_refused(
    run_command: RunCommand, make_database: MakeDatabase
) -> None:
    url = make_database(
        'CREATE TABLE "a b" (id int PRIMARY KEY)',
        "CREATE TABLE a_b (id int PRIMARY KEY)",
        "CREATE TABLE coded (id int PRIMARY KEY, code int NOT NULL UNIQUE)",
        "ALTER TABLE coded REPLICA IDENTITY USING INDEX coded_code_key",
    )
    refused = run_command("cdc", "add", "unfit", "--database", url, "--tables", "public.*")
    assert refused.code == 1
    assert "public.a b and public.a_b have the same Kafka topic, unfit.public.a_b" in refused.err
    assert "public.coded has REPLICA IDENTITY USING INDEX beside its primary key" in refused.err


def test_partitions_and_children_are_no_rows_of_other_tables(
    run_command: RunCommand, make_database: MakeDatabase, capturing: Settings, capture_name: str
) -> None:
    url = make_database(*ODD)
    added = run_command("cdc", "add", capture_name, "--database", url, "--tables", "public.*")
    assert added.code == 0, added.err
    for note in (
        "public.sales is partitioned",
        "public.people has child tables",
        "public.people has generated columns",
    ):
        assert note in added.err
    run(url, "INSERT INTO sales VALUES (2, '2025-06-06')", "INSERT INTO staff (id, name) VALUES (3, 'Mary')")
    wait_until(lambda: len(rows(capturing, f"{capture_name}.public.staff")) == 2)
    wait_until(lambda: rows(capturing, f"{capture_name}.public.sales") == [1, 2])
    assert rows(capturing, f"{capture_name}.public.people") == [1]
    with Admin(capturing) as admin:
        topics = {topic.name for topic in list_topics(admin) if topic.name.startswith(f"{capture_name}.public.")}
    assert topics == {f"{capture_name}.public.{table}" for table in ("sales", "people", "staff")}

    run(url, 'CREATE TABLE "to do" (id int PRIMARY KEY)', "CREATE TABLE to_do (id int PRIMARY KEY)")
    unfit = run_command("cdc", "restart", capture_name)
    assert unfit.code == 1
    assert "public.to do and public.to_do have the same Kafka topic" in unfit.err


def rows(settings: Settings, topic: str) -> list[int]:
    with Admin(settings) as admin:
        if not any(each.name == topic for each in list_topics(admin)):
            return []
    values = (json.loads(record.value) for record in read_span(settings, find_span(settings, [topic])))
    return [value["payload"]["after"]["id"] for value in values]


def test_a_mirror_of_a_parent_is_compared_without_its_children_and_generated_columns(
    make_database: MakeDatabase, capturing: Settings, tmp_path: Path
) -> None:
    url = make_database(*ODD)
    mirror = pa.table({"id": [1], "name": ["Ada"], "loud": pa.array([None], pa.string()), "_cdc": [{"lsn": 1}]})
    write_deltalake(str(tmp_path / "people"), mirror)
    lake = Lake(capturing.model_copy(update={"lake": str(tmp_path)}))
    verdict = verify(url, TableName("public", "people"), partial(lake.table, "people"), patience=0)
    assert (verdict.rows, verdict.equal, verdict.differences) == (1, 1, ())
    assert verdict.not_compared == ("loud (generated, which PostgreSQL does not send)",)
