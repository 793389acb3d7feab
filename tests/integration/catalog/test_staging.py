from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.database import Database
from penstock.catalog.intake import take, take_lines
from penstock.catalog.staging.copying import Lines
from penstock.catalog.staging.rows import StagedRow
from penstock.catalog.staging.tables import COMPACTION, METADATA_CHANGE, TableName
from penstock.config import Settings
from penstock.errors import DatabaseRefused, DatabaseUnavailable
from tests.integration.catalog.conftest import at_database
from tests.integration.catalog.events import change, fields, load, row, rows_of, urn


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (change(2, offset=1, description="a\x00b"), "NUL character"),
        (change(2, offset=1, properties={"a": "b\x00"}), "Unicode"),
        (change(2, offset=1, description="\ud800"), "no valid Unicode"),
        (change(2, offset=1, description="x" * 10_000_000), "10,000,000 bytes"),
        (change(2, offset=1, properties={"a": "x" * 10_000_000}), "bytes"),
        (change("soon", offset=1), "invalid input syntax"),  # type: ignore[arg-type]
        (change(-1, offset=1), "event_ms"),
        (change(10**17, offset=1), "event_ms"),
        (row(1, change_type="UPSERT", log_event_time=2), "null value in column"),
        (row(1, urn="urn:li:corpuser:ann", change_type="UPSERT", log_event_time=2), "dataset_urn"),
        (change(2, offset=1, owners=[{"owner": "ann"}]), "owners"),
        (change(2, offset=1, schema_fields=fields("a") + fields("a")), "schema_fields"),
        (change(2, offset=1, schema_fields={"a": 1}), "schema_fields"),
        (change(2, offset=1, upstreams=["nowhere"]), "upstreams"),
        (change(2, offset=1, name="n" * 900), "dataset_urn"),
        (change(2, offset=1, change_type="MAYBE"), "change_type"),
    ],
)
def test_a_bad_row_is_told_apart_and_the_others_are_written(database: Database, bad: StagedRow, reason: str) -> None:
    rows = [change(1, offset=0), bad, change(3, offset=2)]
    [refusal] = take(database, METADATA_CHANGE, rows)
    assert refusal.row is bad
    assert refusal.error.message.startswith("events/0/1: ")
    assert reason in refusal.error.message
    assert len(refusal.error.message) < 300
    assert rows_of(database, "SELECT kafka_offset FROM stg_kafka_metadata_change ORDER BY 1") == [(0,), (2,)]


def test_many_bad_rows_are_found_among_the_good_ones(database: Database) -> None:
    rows = [load(-1 if number % 7 == 0 else number, f"p{number}") for number in range(200)]
    refusals = take(database, COMPACTION, rows)
    assert [refusal.row for refusal in refusals] == rows[::7]
    assert rows_of(database, "SELECT count(*) FROM stg_kafka_gobblin_compaction") == [(200 - len(refusals),)]


def test_a_row_on_which_the_merge_fails_is_told_apart_and_the_others_are_merged(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("ALTER TABLE dataset_load_status ADD CONSTRAINT odd CHECK (partition_expr <> 'p5')")
    columns = ("cluster", "dataset", "partition_name", "log_event_time")
    texts = [f"c1\t/data/e\tp{number}\t{1000 + number}\tevents\t0\t{number}\n" for number in range(9)]
    place = {"topic": ["events"] * 9, "partition": [0] * 9, "offset": list(range(9))}
    try:
        [refusal] = take_lines(database, COMPACTION, Lines(columns, pa.table({**place, "line": texts})))
    finally:
        with database.transaction() as connection:
            connection.execute("ALTER TABLE dataset_load_status DROP CONSTRAINT odd")
    assert refusal.error.message.startswith("events/0/5: ")
    assert '"odd"' in refusal.error.message
    others = [(f"p{number}",) for number in range(9) if number != 5]
    assert rows_of(database, "SELECT partition_expr FROM dataset_load_status ORDER BY 1") == others
    assert rows_of(database, "SELECT count(*) FROM stg_kafka_gobblin_compaction") == [(8,)]


def test_a_row_beyond_a_limit_of_postgresql_is_told_apart_instead_of_being_tried_for_ever(database: Database) -> None:
    words = [chr(0x4E00 + number) * 130 for number in range(4500)]
    tags = json.dumps(words[:1500], ensure_ascii=False)
    owned = json.dumps([{"owner": word, "type": "NONE"} for word in words[1500:3000]], ensure_ascii=False)
    named = json.dumps(fields(*words[3000:]), ensure_ascii=False)
    lines = [
        f"{urn('a.b')}\tUPSERT\t[]\t[]\t[]\t1\tevents\t0\t0\n",
        f"{urn('a.c')}\tUPSERT\t{tags}\t{owned}\t{named}\t1\tevents\t0\t1\n",
    ]
    columns = ("urn", "change_type", "tags", "owners", "schema_fields", "log_event_time")
    place = {"topic": ["events"] * 2, "partition": [0] * 2, "offset": [0, 1]}
    [refusal] = take_lines(database, METADATA_CHANGE, Lines(columns, pa.table({**place, "line": lines})))
    assert refusal.error.message.startswith("events/0/1: ")
    assert "tsvector" in refusal.error.message
    assert rows_of(database, "SELECT name FROM dataset") == [("a.b",)]


def test_the_origin_of_a_dataset_may_have_digits(database: Database) -> None:
    given = urn("a.b").replace("PROD", "EI1")
    assert take(database, METADATA_CHANGE, [change(1, urn=given)]) == []
    assert rows_of(database, "SELECT urn, origin FROM dataset") == [(given, "EI1")]


def test_a_row_that_is_there_is_not_written_again(database: Database) -> None:
    rows = [load(1000, "p", 1, offset=0), load(1000, "p", 1, offset=0)]
    for _ in range(2):
        assert take(database, COMPACTION, rows) == []
    assert rows_of(database, "SELECT count(*) FROM stg_kafka_gobblin_compaction") == [(1,)]


def test_a_schema_with_5000_fields_is_taken(database: Database) -> None:
    many = fields(*(f"field_{number}" for number in range(5000)))
    assert take(database, METADATA_CHANGE, [change(1, schema_fields=many)]) == []
    assert rows_of(database, "SELECT jsonb_array_length(diff -> 'added') FROM dataset_schema") == [(5000,)]


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    [("stg_kafka_gobblin_compactoin", {"a": 1}, "no table"), (COMPACTION, {"colour": 1}, "lacks the columns colour")],
)
def test_a_table_that_is_missing_or_lacks_columns_is_named(
    database: Database, table: TableName, values: dict[str, Any], reason: str
) -> None:
    with pytest.raises(DatabaseRefused, match=reason):
        take(database, table, [row(**values)])


def test_the_rows_of_a_users_own_table_are_written_there_with_its_defaults(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("""CREATE TABLE IF NOT EXISTS public.my_events (
            what text, taken timestamptz NOT NULL DEFAULT now(),
            kafka_topic text, kafka_partition int, kafka_offset bigint,
            PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset))""")
    assert take(database, TableName("my_events"), [row(0, what="this")]) == []
    assert rows_of(database, "SELECT what, taken <= now() FROM my_events") == [("this", True)]


def test_a_server_that_does_not_answer_is_named_without_its_password(settings: Settings) -> None:
    away = settings.model_copy(update={"database": type(settings.database)("postgresql://u:geheim@localhost:1/x")})
    with pytest.raises(DatabaseUnavailable, match=r"postgresql://u@localhost:1/x does not answer") as raised:
        Database(away).open()
    assert "geheim" not in str(raised.value)


def test_a_database_that_is_not_there_is_refused(settings: Settings) -> None:
    with pytest.raises(DatabaseRefused, match="does not exist"):
        Database(at_database(settings, "nowhere")).open()
