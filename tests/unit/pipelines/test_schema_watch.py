"""What columns a captured table has, found in real messages of Debezium, and remembered once it was told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.events.schema_change import TableField, TableSchema, schema_event_avro
from penstock.pipelines.schema_watch import Notes, alteration, newest_schemas
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.spark.debezium.shapes import ShapeReader
from penstock.spark.files import LocalFiles

CAPTURED = Path(__file__).parents[2] / "fixtures" / "debezium"
TABLE = "shop.public.people"
PEOPLE = TableSchema("postgresql", TABLE, (TableField("id", "int4", nullable=False),))


def captured() -> Any:
    return json.loads((CAPTURED / "json_precise.json").read_text(encoding="utf-8"))


def record(value: bytes | None, at: int, key: bytes | None = None) -> ConsumerRecord:
    return ConsumerRecord(key, value, (), at, TopicName(TABLE), Partition(0), Offset(at), has_schema=False)


def change(at: int, without: str | None = None) -> ConsumerRecord:
    """A real change at a time, of a table that may lack a column."""
    data = captured()
    schema = data["value_schema"]
    for row in (field for field in schema["fields"] if field["field"] in {"before", "after"}):
        row["fields"] = [column for column in row["fields"] if column["field"] != without]
    return record(json.dumps({"schema": schema, "payload": data["changes"][0]["value"]}).encode(), at)


@pytest.fixture
def reader() -> ShapeReader:
    return ShapeReader(MemoryRegistry())


def test_the_newest_change_of_a_table_tells_its_columns(reader: ShapeReader) -> None:
    records = [change(2), change(1, without="num102"), record(None, 3)]
    [found] = newest_schemas(records, reader)
    fields = {field.path: field for field in found.schema.fields}
    assert (found.at, found.schema.table, found.schema.connector) == (2, TABLE, "postgresql")
    assert not fields["id"].nullable
    assert "num102" in fields
    [found] = newest_schemas([change(1), change(2, without="num102")], reader)
    assert "num102" not in {field.path for field in found.schema.fields}


def test_what_is_no_change_tells_nothing(reader: ShapeReader) -> None:
    assert list(newest_schemas([record(b"no JSON", 1), record(None, 2)], reader)) == []


def test_a_schema_is_told_once_also_after_a_restart(tmp_path: Path) -> None:
    notes = Notes(LocalFiles(), str(tmp_path / "notes.json"))
    assert not notes.has(PEOPLE)
    notes.note(PEOPLE)
    again = Notes(LocalFiles(), str(tmp_path / "notes.json"))
    assert again.has(PEOPLE)
    assert not again.has(TableSchema("postgresql", TABLE, (TableField("id", "int8", nullable=False),)))


def test_an_event_fits_its_schema_and_names_the_dataset() -> None:
    event = PEOPLE.event(1_700_000_000_000)
    assert event["urn"] == "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.people,PROD)"
    encode = AvroCodec(MemoryRegistry()).encoder("MetadataChangeEvent-value", Schema.from_text(schema_event_avro()))
    assert encode(event)


def test_a_table_that_was_altered_is_warned_of_with_the_way_out(tmp_path: Path) -> None:
    notes = Notes(LocalFiles(), str(tmp_path / "notes.json"))
    assert notes.last(TABLE) is None
    notes.note(PEOPLE)
    after = TableSchema(
        "postgresql", TABLE, (TableField("id", "int8", nullable=False), TableField("n", "int4", nullable=True))
    )
    before = Notes(LocalFiles(), str(tmp_path / "notes.json")).last(TABLE)
    assert before == PEOPLE
    warning = alteration(before, after)
    assert "table public.people was altered (id is int8, was int4, n was added)" in warning
    assert "`penstock cdc resnapshot shop public.people`" in warning
    assert alteration(after, before).startswith("table public.people was altered (id is int4")
    assert alteration(after, TableSchema("postgresql", TABLE, after.fields[:1])) == ""
