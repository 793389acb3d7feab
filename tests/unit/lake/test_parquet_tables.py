import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.config import load_settings
from penstock.errors import LakeUnavailable, TableNotFound, TableUnreadable
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.lake.engine import Engine
from penstock.lake.lake import Lake
from penstock.spark.lake.ledger import Entry
from penstock.spark.queries.position import Position
from tests.unit.lake.conftest import Ask

Write = Callable[..., Path]


def test_folders_are_text_however_they_look(write: Write, answer: Ask) -> None:
    write("events/code=01/a.parquet", n=[1])
    write("events/code=1/a.parquet", n=[2])
    write("events/code=A%20B%3Ac/a.parquet", n=[3])
    write("events/code=__HIVE_DEFAULT_PARTITION__/a.parquet", n=[4])
    assert answer("SELECT code, n FROM events ORDER BY n") == [("01", 1), ("1", 2), ("A B:c", 3), (None, 4)]


def test_folders_have_the_type_that_their_writer_noted(write: Write, note: Callable[..., None], answer: Ask) -> None:
    note("events", ["day", "n"], id="long", day="date", n="integer")
    write("events/day=2026-01-31/n=7/a.parquet", id=[1])
    assert answer("SELECT day, n, id FROM events") == [(date(2026, 1, 31), 7, 1)]


def test_folders_may_be_moments_in_utc(write: Write, note: Callable[..., None], answer: Ask) -> None:
    note("events", ["moment"], id="long", moment="timestamp")
    write("events/moment=2026-01-31 10%3A00%3A00.5/a.parquet", id=[1])
    write("events/moment=__HIVE_DEFAULT_PARTITION__/a.parquet", id=[2])
    moment = datetime(2026, 1, 31, 10, 0, 0, 500_000)  # noqa: DTZ001 - as DuckDB gives it
    assert answer("SELECT id, moment FROM events ORDER BY id") == [(1, moment), (2, None)]


def test_columns_that_came_later_are_null_in_older_files(write: Write, note: Callable[..., None], answer: Ask) -> None:
    inner = {"type": "struct", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
    note("events", [], id="long", more=inner)
    write("events/old.parquet", id=pa.array([1], pa.int32()))
    write("events/new.parquet", id=[2], more=[{"a": 5}])
    assert answer("SELECT * FROM events ORDER BY id") == [(1, None), (2, {"a": 5, "b": None})]


def test_a_table_without_notes_has_the_columns_of_all_its_files(write: Write, answer: Ask) -> None:
    write("events/1.parquet", id=pa.array([1], pa.int32()))
    write("events/2.parquet", id=[2**40], name=["x"])
    assert answer("SELECT * FROM events ORDER BY id") == [(1, None), (2**40, "x")]


def test_a_noted_table_without_files_is_empty(note: Callable[..., None], answer: Ask, lake: Lake) -> None:
    note("events", ["day"], id="long", day="string")
    assert answer("SELECT count(*) FROM events") == [(0,)]
    assert lake.table("events").summary().last_write is None


def test_only_the_folders_that_a_question_needs_are_read(
    write: Write, note: Callable[..., None], answer: Ask, tmp_path: Path
) -> None:
    note("events", ["day"], n="long", day="string")
    write("events/day=1/a.parquet", n=[1, 2])
    (tmp_path / "events" / "day=2").mkdir()
    (tmp_path / "events" / "day=2" / "broken.parquet").write_bytes(b"PAR1")
    assert answer("SELECT sum(n) FROM events WHERE day = '1'") == [(3,)]
    assert answer("SELECT count(*) FROM events WHERE day < (current_date - 1)::VARCHAR AND day <> '2'") == [(2,)]
    with pytest.raises(TableUnreadable, match=r"broken\.parquet"):
        answer("SELECT sum(n) FROM events")


def test_a_table_is_summed_up(write: Write, lake: Lake) -> None:
    files = [write("events/day=1/a.parquet", n=[1, 2]), write("events/day=2/b.parquet", n=[3])]
    summary = lake.table("events").summary()
    assert (summary.partitions, summary.files, summary.rows) == (2, 2, 3)
    assert summary.size == sum(file.stat().st_size for file in files)
    assert summary.last_write is not None


def test_names_are_found_whatever_their_case_and_suggested_if_mistyped(write: Write, answer: Ask, lake: Lake) -> None:
    write("Events/a.parquet", n=[1])
    assert answer("SELECT n FROM events") == [(1,)]
    with pytest.raises(TableNotFound) as refused:
        lake.table("Evnts")
    assert refused.value.hint == "did you mean Events?"


def test_tables_in_folders_are_schemas_in_sql(write: Write, answer: Ask) -> None:
    write("shop/orders/a.parquet", id=[1])
    write("shop/eu/orders/a.parquet", id=[2])
    assert answer('SELECT a.id, b.id, c.id FROM shop.orders a, "shop/eu".orders b, "shop/orders" c') == [(1, 2, 1)]


def test_a_broken_file_is_named(write: Write, lake: Lake, tmp_path: Path) -> None:
    write("events/a.parquet", n=[1])
    (tmp_path / "events" / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableUnreadable, match=r"b\.parquet"):
        lake.table("events").summary()


def test_a_file_that_is_gone_when_it_is_read_is_worth_another_try(write: Write, lake: Lake) -> None:
    file = write("events/a.parquet", n=[1])
    table: Any = lake.table("events")
    file.unlink()
    with pytest.raises(LakeUnavailable) as refused:
        table.summary()
    assert "ask again" in refused.value.hint


def test_a_file_that_goes_while_a_question_is_asked_is_worth_another_try(write: Write, lake: Lake) -> None:
    file = write("events/a.parquet", n=[1])
    with Engine() as engine:
        asked = engine.read("FROM events")
        engine.add(asked.tables[0], lake.table("events").rows(asked.columns))
        file.unlink()
        with pytest.raises(LakeUnavailable, match=r"a\.parquet"):
            list(engine.ask("FROM events").batches())


def test_a_lake_that_is_not_there_has_no_tables(tmp_path: Path) -> None:
    assert Lake(load_settings(env={}, options={"lake": str(tmp_path / "none")}).settings).tables() == []


def test_batches_of_the_ledgers_are_the_history(write: Write, lake: Lake, tmp_path: Path) -> None:
    write("events/a.parquet", n=[1])
    queries = tmp_path / "_penstock" / "events" / "queries" / "events.lake"
    (queries / "ledger").mkdir(parents=True)
    place = PartitionId(TopicName("events"), Partition(0))
    for number, offsets in {1: {}, 2: {place: Offset(20)}}.items():
        entry = Entry(number, "owner", Position(offsets, {TopicName("events"): "id"}))
        (queries / "ledger" / f"{number:020}.json").write_bytes(entry.to_json())
        os.utime(queries / "ledger" / f"{number:020}.json", (number, number))
    (queries / "ledger" / "lock").touch()
    (change,) = lake.table("events").history(1)
    assert (change.number, change.what, change.writer) == (2, "batch up to events/0/20", "events.lake")
    assert [change.what for change in lake.table("events").history(2)][1] == "a driver began"
    assert lake.writers("events") == ["events.lake"]
