from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.spark.changes.history_sink import HistorySink
from tests.changes import Changes, change, read, seconds

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
    history.write({"op": "t", "id": None, "lsn": 20, "keys": []})
    history.write(change("c", 2, "new", lsn=30))
    assert told(history) == [
        (1, "old", None, "r", 10, 20),
        (1, None, None, "t", 20, None),
        (2, "new", None, "c", 30, None),
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
