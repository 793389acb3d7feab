"""Rows are told apart by their keys, whatever values, types and column names a table has."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import QueryFailed
from penstock.spark.changes.history_sink import HistorySink
from penstock.spark.changes.mirror_sink import MirrorSink
from tests.changes import Changes, MakeSink, change, read, truncate

pytestmark = pytest.mark.timeout(300)

HOSTILE = ["${user.home}", "a${x:y}b", "'; --", "\\", "`", "\n", '"}', "$${", ":low", "?", "{0}", "%s", "zz"]
INTERNAL = ("_order", "_seen", "_last", "_key", "_place", "_now", "_lsn", "_old_key", "_origin", "_stored")
INTERNAL_TOO = ("_before", "_base", "_nth", "_holds", "_told", "_sent_name", "_old_name", "_change_type")


@pytest.fixture
def mirror(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, MirrorSink)


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, HistorySink)


def open_versions(history: Changes, *columns: str) -> list[tuple[Any, ...]]:
    rows = history.rows(*columns, "_valid_to", "_op", order="_cdc.lsn")
    return [row[:-2] for row in rows if row[-2] is None and row[-1] not in {"d", "t"}]


def test_a_text_key_is_never_taken_for_sql(mirror: Changes) -> None:
    columns = "id string, name string"
    mirror.write(*(read(key, "old", 10) for key in HOSTILE), columns=columns)
    for lsn, key in enumerate(HOSTILE, 20):
        mirror.write(change("u", key, "new", lsn=lsn), columns=columns)
    assert sorted(mirror.rows("id", "name")) == sorted((key, "new") for key in HOSTILE)
    mirror.write(*(change("d", key, lsn=90) for key in HOSTILE), columns=columns)
    assert mirror.rows("id", "name") == []


def test_a_path_of_the_lake_is_never_taken_for_sql(spark: SparkSession, tmp_path: Path) -> None:
    mirror = Changes(spark, tmp_path / "it's ${a} `lake`", MirrorSink)
    mirror.write(read(1, "old", 10), read(2, "old", 10))
    mirror.write(change("u", 1, "new", lsn=20), change("d", 2, lsn=21))
    mirror.write(truncate(15))
    assert [(row["id"], row["name"]) for row in mirror.without_spark()] == [(1, "new")]


@pytest.mark.parametrize(
    ("sink", "kind", "texts"),
    [
        (MirrorSink, "timestamp_ntz", ["infinity", "-infinity"]),
        (MirrorSink, "decimal(9)", ["NaN"]),
        (HistorySink, "timestamp", ["infinity", "-infinity"]),
        (HistorySink, "date", ["infinity"]),
    ],
)
def test_keys_that_their_type_has_no_room_for_stay_apart(
    spark: SparkSession, tmp_path: Path, sink: MakeSink, kind: str, texts: list[str]
) -> None:
    table, columns = Changes(spark, tmp_path, sink), f"id {kind}, name string"
    keys: list[Any] = [{"outside": {"id": text}} for text in texts]
    table.write(*(read(None, f"old {n}", 10, **key) for n, key in enumerate(keys)), columns=columns)
    table.write(*(change("u", None, f"new {n}", lsn=20 + n, **key) for n, key in enumerate(keys)), columns=columns)
    names = [row[0] for row in open_versions(table, "name")] if sink is HistorySink else None
    names = names if names is not None else [row[0] for row in table.rows("name", order="name")]
    assert names == [f"new {n}" for n, _ in enumerate(keys)]

    table.write(change("d", None, lsn=30, **keys[0]), columns=columns)
    table.write(change("u", None, "stale", lsn=15, **keys[0]), columns=columns)
    left = open_versions(table, "name") if sink is HistorySink else table.rows("name", order="name")
    assert left == [(f"new {n}",) for n, _ in enumerate(keys)][1:]


@pytest.mark.parametrize("sink", [MirrorSink, HistorySink])
def test_infinite_keys_that_a_transform_casts_to_text_stay_apart_within_a_batch(
    spark: SparkSession, tmp_path: Path, sink: MakeSink
) -> None:
    table = Changes(spark, tmp_path, sink)
    table.transform = lambda rows: rows.withColumn("id", rows["id"].cast("string"))
    keys: list[Any] = [{"outside": {"id": text}} for text in ("infinity", "-infinity")]
    table.write(
        *(change("c", None, text, lsn=10, **key) for text, key in zip("ab", keys, strict=True)),
        columns="id timestamp_ntz, name string",
    )
    assert sorted(table.rows("id", "name")) == [("-infinity", "b"), ("infinity", "a")]


def test_a_truncate_ends_rows_with_infinite_keys_too(history: Changes) -> None:
    columns = "id timestamp_ntz, name string"
    keys: list[Any] = [{"outside": {"id": text}} for text in ("infinity", "-infinity")]
    history.write(
        *(change("c", None, text, lsn=10, **key) for text, key in zip("ab", keys, strict=True)), columns=columns
    )
    history.write(truncate(20), columns=columns)
    assert open_versions(history, "name") == []
    assert sorted(row[0] or "" for row in history.rows("name", order="name")) == ["", "", "a", "b"]


@pytest.mark.parametrize("kind", ["timestamp_ntz", "array<timestamp>"])
def test_keys_that_differ_by_microseconds_do_not_share_a_deletion(mirror: Changes, kind: str) -> None:
    columns, zone = f"id {kind}, name string", UTC if "ntz" not in kind else None
    keys: list[Any] = [datetime(2026, 1, 1, 12, 0, 0, micros, tzinfo=zone) for micros in (123_456, 123_457)]
    keys = [[key] for key in keys] if "array" in kind else keys
    mirror.write(read(keys[0], "gone", 10), columns=columns)
    mirror.write(change("d", keys[0], lsn=50), columns=columns)
    mirror.write(change("c", keys[1], "late", lsn=40), columns=columns)
    assert mirror.rows("name") == [("late",)]


@pytest.mark.parametrize("sink", [MirrorSink, HistorySink])
def test_columns_with_the_names_of_a_sinks_own_are_columns_like_others(
    spark: SparkSession, tmp_path: Path, sink: MakeSink
) -> None:
    table, names = Changes(spark, tmp_path, sink), [*INTERNAL, *INTERNAL_TOO]
    columns = ", ".join(["id int, name string", *(f"{name} string" for name in names)])
    values = {name: name.upper() for name in names}
    table.write(
        change("c", 1, "one", lsn=10, **values), change("c", 2, "two", lsn=10, **values),
        change("c", 3, "gone", lsn=10, **values), columns=columns,
    )  # fmt: skip
    table.write(
        change("u", 1, None, lsn=20, unavailable=["name"], **values),
        change("d", 2, lsn=21),
        change("c", 4, None, lsn=21, unavailable=["name"], **values),
        read(5, "five", 21, **values),
        {"op": "u", "id": 5, "name": "six", "lsn": 20, "at": 99, **values},
        change("d", 3, lsn=22),
        columns=columns,
    )
    table.write(change("u", 3, "stale", lsn=12, **values), columns=columns)
    found = open_versions(table, "id", "name", *names) if sink is HistorySink else table.rows("id", "name", *names)
    kept = tuple(name.upper() for name in names)
    assert sorted(found) == [(1, "one", *kept), (4, "two", *kept), (5, "six", *kept)]


def test_an_own_name_of_a_mirror_that_keeps_deleted_rows_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    soft = Changes(spark, tmp_path, lambda session, table: MirrorSink(session, table, deletes="soft"))
    with pytest.raises(QueryFailed, match="_Deleted"):
        soft.write(change("c", 1, "one", lsn=1, _Deleted="no"), columns="id int, name string, _Deleted string")


@pytest.mark.parametrize("name", ["_valid_from", "_VALID_TO", "_op", "_metadata"])
def test_an_own_name_of_a_history_is_refused(history: Changes, name: str) -> None:
    with pytest.raises(QueryFailed, match=name):
        history.write(change("c", 1, "one", lsn=1, **{name: "x"}), columns=f"id int, name string, {name} string")


def test_a_column_named_as_the_deletion_mark_is_like_others_where_deleted_rows_go(mirror: Changes) -> None:
    mirror.write(change("c", 1, "one", lsn=1, _deleted="no"), columns="id int, name string, _deleted string")
    assert mirror.rows("id", "_deleted") == [(1, "no")]


@pytest.mark.parametrize("sink", [MirrorSink, HistorySink])
def test_a_key_of_whole_numbers_that_becomes_text_goes_on(spark: SparkSession, tmp_path: Path, sink: MakeSink) -> None:
    table, text = Changes(spark, tmp_path, sink), "id string, name string"
    table.write(read(1, "one", 10), read(2, "two", 10), read(3, "three", 10), columns="id int, name string")
    table.write(change("d", 3, lsn=11), columns="id int, name string")
    table.write(
        change("u", "1", "new", lsn=20),
        change("d", "2", lsn=21),
        change("c", "x", "x", lsn=22),
        columns=text,
    )
    expected = [("1", "new"), ("x", "x")]
    found = open_versions(table, "id", "name") if sink is HistorySink else table.rows("id", "name")
    assert sorted(found) == expected

    table.restart()
    table.write(change("u", 1, "stale", lsn=12), change("u", 3, "stale", lsn=9), columns="id int, name string")
    table.write(change("u", "3", "stale", lsn=9), columns=text)
    found = open_versions(table, "id", "name") if sink is HistorySink else table.rows("id", "name")
    assert sorted(found) == expected


def test_a_row_under_a_new_key_has_its_large_values_from_before_its_key_became_text(mirror: Changes) -> None:
    numbers, texts = "id int, name string, note string", "id string, name string, note string"
    mirror.write(change("c", 1, "Ada", lsn=10, note="large"), columns=numbers)
    mirror.write(change("d", 1, lsn=20), columns=numbers)
    mirror.write(change("c", "x", "x", lsn=30), columns=texts)
    mirror.write(change("c", "2", "Ada", lsn=20, unavailable=["note"]), columns=texts)
    assert sorted(mirror.rows("id", "name", "note")) == [("2", "Ada", "large"), ("x", "x", None)]


@pytest.mark.parametrize(("old", "new"), [("string", "bigint"), ("int", "decimal(12)"), ("decimal(9)", "string")])
def test_other_types_of_keys_that_write_the_same_value_alike_go_on(mirror: Changes, old: str, new: str) -> None:
    made = {"string": str, "bigint": int, "int": int, "decimal(12)": Decimal, "decimal(9)": Decimal}
    mirror.write(read(made[old](7), "old", 10), columns=f"id {old}, name string")
    mirror.write(change("u", made[new](7), "new", lsn=20), columns=f"id {new}, name string")
    assert [(str(key), name) for key, name in mirror.rows("id", "name")] == [("7", "new")]


@pytest.mark.parametrize("sink", [MirrorSink, HistorySink])
def test_a_key_that_is_no_number_goes_on_as_text(spark: SparkSession, tmp_path: Path, sink: MakeSink) -> None:
    table, outside = Changes(spark, tmp_path, sink), {"outside": {"id": "NaN"}}
    table.write(read(None, "old", 10, **outside), columns="id decimal(9), name string")
    table.write(change("u", "NaN", "new", lsn=20), columns="id string, name string")
    table.write(change("u", None, "stale", lsn=15, **outside), columns="id decimal(9), name string")
    found = open_versions(table, "id", "name") if sink is HistorySink else table.rows("id", "name")
    assert found == [("NaN", "new")]


@pytest.mark.parametrize(
    ("sink", "old", "new"), [(MirrorSink, "timestamp", "string"), (HistorySink, "string", "binary")]
)
def test_a_key_whose_new_type_cannot_be_compared_stops_the_table_before_a_change_is_lost(
    spark: SparkSession, tmp_path: Path, sink: MakeSink, old: str, new: str
) -> None:
    table = Changes(spark, tmp_path, sink)
    table.write(truncate(1), read(None, "old", 10), columns=f"id {old}, name string")
    with pytest.raises(QueryFailed, match=f"id.* {old} .*{new}"):
        table.write(change("u", None, "new", lsn=20), columns=f"id {new}, name string")
    assert len(table.rows("name", order="name")) == 1
