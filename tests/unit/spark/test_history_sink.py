from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.spark.changes.history_sink import HistorySink
from tests.changes import Changes, change, read, seconds, truncate

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> Changes:
    return Changes(spark, tmp_path, HistorySink)


def told(history: Changes) -> list[tuple[Any, ...]]:
    rows = history.rows("id", "name", "note", "_op", "_valid_from", "_valid_to", order="id, _cdc.lsn")
    return [(*row[:4], seconds(row[4]), seconds(row[5])) for row in rows]


def test_versions_follow_each_other_without_gaps_whatever_comes_again(history: Changes) -> None:
    history.write(read(1, "Ada", 10), read(2, "Grace", 10))
    batch = [
        change("u", 1, "Ada L.", lsn=20, note="long"),
        change("u", 1, "Ada Lovelace", lsn=30, unavailable=["note"]),
        change("d", 2, lsn=40),
        change("u", 1, "Ada L.", lsn=20, note="long"),
    ]
    history.write(*batch)
    history.write(*batch)
    history.write(change("u", 1, "A. L.", lsn=50, unavailable=["note"]), change("c", 2, "Grace II", lsn=60))
    assert told(history) == [
        (1, "Ada", None, "r", 10, 20),
        (1, "Ada L.", "long", "u", 20, 30),
        (1, "Ada Lovelace", "long", "u", 30, 50),
        (1, "A. L.", "long", "u", 50, None),
        (2, "Grace", None, "r", 10, 40),
        (2, None, None, "d", 40, 60),
        (2, "Grace II", None, "c", 60, None),
    ]


def test_a_clock_that_goes_back_makes_no_overlap(history: Changes) -> None:
    history.write(change("c", 1, "first", lsn=1, at=100), change("u", 1, "second", lsn=2, at=90))
    assert told(history) == [(1, "first", None, "c", 100, 100), (1, "second", None, "u", 100, None)]


def test_a_truncate_ends_every_row_that_is_older(history: Changes) -> None:
    history.write(read(1, "old", 10))
    history.write(truncate(20))
    history.write(change("c", 2, "new", lsn=30))
    assert told(history) == [
        (1, "old", None, "r", 10, 20),
        (1, None, None, "t", 20, None),
        (2, "new", None, "c", 30, None),
    ]


def test_every_truncate_counts_also_for_rows_that_come_later(history: Changes) -> None:
    history.write(read(1, "old", 10))
    batch = [
        truncate(20, commit=12),
        {"op": "c", "id": 2, "name": "between", "lsn": 21, "commit": 12},
        change("c", 3, "deleted", lsn=30),
        change("d", 3, lsn=31),
        truncate(40, commit=35),
        change("c", 1, "new", lsn=50),
    ]
    history.write(*batch)
    history.write(*batch)
    expected = [
        (1, "old", None, "r", 10, 20),
        (1, None, None, "t", 20, 50),
        (1, "new", None, "c", 50, None),
        (2, "between", None, "c", 21, 40),
        (2, None, None, "t", 40, None),
        (3, "deleted", None, "c", 30, 31),
        (3, None, None, "d", 31, None),
    ]
    assert told(history) == expected
    history.restart()
    late = [
        {"op": "c", "id": 4, "name": "late", "lsn": 15, "commit": 11},
        {"op": "u", "id": 2, "name": "late", "lsn": 39, "commit": 34},
    ]
    history.write(*late, change("c", 5, "not late", lsn=60))
    assert told(history) == [
        *expected,
        (4, "late", None, "c", 15, 20),
        (4, None, None, "t", 20, None),
        (5, "not late", None, "c", 60, None),
    ]
    history.write(truncate(70))
    assert [row[-2:] for row in told(history) if row[3] == "t"] == [
        (20, 50),
        (70, None),
        (40, None),
        (20, None),
        (70, None),
    ]


def test_a_snapshot_ends_the_version_of_a_change_before_it(history: Changes) -> None:
    history.write(
        read(1, "first", 100), {"op": "u", "id": 1, "name": "change", "lsn": 90, "at": 101}, read(1, "second", 400)
    )
    assert [row[1] for row in told(history)][-1] == "second"
    assert [row[1] for row in told(history) if row[-1] is None] == ["second"]


def test_a_row_under_a_new_key_has_the_large_value_that_it_had_under_the_old_one(history: Changes) -> None:
    history.write(change("c", 1, "Ada", lsn=10, note="large"), change("c", 5, "Joan", lsn=11, note="huge"))
    moved = {"lsn": 20, "commit": 12}
    history.write(change("d", 5, lsn=19), {"op": "d", "id": 1, **moved})
    late = [{"op": "c", "id": 2, "name": "Ada", "unavailable": ["note"], **moved}]
    late.append({"op": "c", "id": 6, "name": "Joan", "unavailable": ["note"], "lsn": 30})
    history.write(*late)
    history.write(*late, change("u", 2, "Ada L.", lsn=40, unavailable=["note"]))
    rows = history.rows("id", "name", "note", "_cdc.unavailable", order="id, _cdc.lsn")
    assert [(*row[:3], row[3] or []) for row in rows if row[1] and row[0] in {2, 6}] == [
        (2, "Ada", "large", []),
        (2, "Ada L.", "large", []),
        (6, "Joan", None, ["note"]),
    ]


def test_a_value_that_is_not_sent_again_is_carried_in_the_column_of_its_new_type(history: Changes) -> None:
    history.write(change("c", 1, "one", lsn=1, note="text"))
    binary = "id int, name string, note binary"
    history.write(change("u", 1, "I", lsn=2, note=bytearray(b"bytes")), columns=binary)
    history.write(change("u", 1, "i", lsn=3, unavailable=["note"]), columns=binary)
    assert history.rows("name", "note", "note__binary", order="_cdc.lsn") == [
        ("one", "text", None),
        ("I", None, bytearray(b"bytes")),
        ("i", None, bytearray(b"bytes")),
    ]
