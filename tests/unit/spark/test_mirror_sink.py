from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.errors import QueryFailed
from penstock.spark.changes.mirror_sink import Deletes, MirrorSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.position import Position
from penstock.spark.sink import Batch

BATCH = Batch("test", 1, Position({}, {}), Position({}, {}))
CDC = (
    "struct<op:string,at:timestamp,snapshot:boolean,commit:bigint,lsn:bigint,row:int,tx:string,tx_order:bigint,"
    "keys:array<string>,unavailable:array<string>,outside:map<string,string>>"
)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Mirror:
    """A mirror of a table `id int, name string, note string`, and batches of changes for it."""

    def __init__(self, spark: SparkSession, lake: Path, deletes: Deletes) -> None:
        self._spark = spark
        self._table = LakeTable(str(lake), "shop/people")
        self._deletes = deletes
        self._offset = 0
        self.sink = self.restarted()

    def restarted(self) -> MirrorSink:
        self.sink = MirrorSink(self._spark, self._table, deletes=self._deletes)
        return self.sink

    def write(self, *changes: dict[str, Any], columns: str = "id int, name string, note string") -> None:
        rows = [self._row(change, columns) for change in changes]
        told = self._spark.createDataFrame(
            rows, f"{columns}, _cdc {CDC}, _kafka struct<topic:string,partition:int,offset:bigint>"
        )
        self.sink.write(self.sink.form(told.coalesce(1)), BATCH)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        table = self._spark.read.format("delta").load(self._table.path)
        return [tuple(row) for row in table.select(*columns or ("id", "name", "note")).orderBy("id").collect()]

    def _row(self, change: dict[str, Any], columns: str) -> tuple[Any, ...]:
        self._offset += 1
        names = [column.split()[0] for column in columns.split(",")]
        at = BEGAN + timedelta(seconds=change.get("at", change["lsn"]))
        keys = change.get("keys", ["id"])
        cdc = (
            change["op"],
            at,
            change["op"] == "r",
            change.get("commit"),
            change["lsn"],
            None,
            None,
            None,
            keys,
            change.get("unavailable"),
            None,
        )
        return (*(change.get(name) for name in names), cdc, ("t", 0, self._offset))


@pytest.fixture
def mirror(spark: SparkSession, tmp_path: Path) -> Mirror:
    return Mirror(spark, tmp_path, "hard")


def change(op: str, row_id: int | None, name: str | None = None, **told: Any) -> dict[str, Any]:
    return {"op": op, "id": row_id, "name": name, "commit": told["lsn"] - 1, **told}


def read(row_id: int, name: str, lsn: int) -> dict[str, Any]:
    return {"op": "r", "id": row_id, "name": name, "lsn": lsn}


def test_a_mirror_is_the_table_as_it_is_now_whatever_comes_again(mirror: Mirror) -> None:
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10), read(3, "Mary", 10))
    batch = [
        change("u", 1, "Ada L.", lsn=20, note="long"),
        change("u", 1, "Ada Lovelace", lsn=30, unavailable=["note"]),
        change("d", 2, lsn=40),
        change("c", 4, "Joan", lsn=50),
        change("d", 4, lsn=60),
        change("c", 4, "Joan C.", lsn=70),
    ]
    mirror.write(*batch)
    expected = [(1, "Ada Lovelace", "long"), (3, "Mary", None), (4, "Joan C.", None)]
    assert mirror.rows() == expected

    mirror.restarted()
    mirror.write(*batch[:3])
    assert mirror.rows() == expected

    mirror.write(change("u", 2, "Grace again", lsn=15), change("u", 1, "Ada, older", lsn=25), change("d", 3, lsn=5))
    assert mirror.rows() == expected

    mirror.write(change("c", 2, "Grace H.", lsn=80), change("u", 1, "A. L.", lsn=81, unavailable=["note"]))
    assert mirror.rows() == [(1, "A. L.", "long"), (2, "Grace H.", None), *expected[1:]]


def test_commits_order_changes_not_places_in_the_log(mirror: Mirror) -> None:
    mirror.write(
        {"op": "u", "id": 1, "name": "committed last", "commit": 200, "lsn": 90},
        {"op": "u", "id": 1, "name": "committed first", "commit": 100, "lsn": 150},
    )
    assert mirror.rows("id", "name") == [(1, "committed last")]
    mirror.write({"op": "u", "id": 1, "name": "committed before both", "commit": 50, "lsn": 300})
    assert mirror.rows("id", "name") == [(1, "committed last")]


def test_a_transaction_that_was_open_at_the_snapshot_is_newer_than_it(mirror: Mirror) -> None:
    mirror.write(read(1, "snapshot", 100), {"op": "u", "id": 1, "name": "in the same batch", "lsn": 90, "at": 101})
    assert mirror.rows("id", "name") == [(1, "in the same batch")]
    mirror.write(read(2, "snapshot", 100))
    mirror.write({"op": "u", "id": 2, "name": "in the next one", "lsn": 90, "at": 101})
    mirror.write(read(1, "snapshot again", 400))
    assert mirror.rows("id", "name") == [(1, "snapshot again"), (2, "in the next one")]


def test_a_truncate_removes_what_is_older_wherever_it_stands(mirror: Mirror) -> None:
    mirror.write(read(1, "old", 10))
    mirror.write(
        change("c", 2, "new", lsn=30), {"op": "t", "id": None, "lsn": 20, "keys": []}, change("c", 3, "old", lsn=19)
    )
    assert mirror.rows("id", "name") == [(2, "new")]
    mirror.write(change("c", 5, "late", lsn=18), change("c", 6, "newer", lsn=31))
    assert mirror.rows("id", "name") == [(2, "new"), (6, "newer")]


def test_columns_come_widen_change_and_go(mirror: Mirror) -> None:
    mirror.write(change("c", 1, "one", lsn=1, age=5), columns="id int, name string, age int")
    mirror.write({**change("c", 2, lsn=2), "age": 2**40, "city": "Rome"}, columns="id int, age bigint, city string")
    mirror.write({**change("c", 3, lsn=3), "age": "five"}, columns="id int, age string")
    mirror.write({**change("u", 1, lsn=4), "city": "Oslo"}, columns="id int, city string")
    assert mirror.rows("id", "name", "age", "city", "age__string") == [
        (1, None, None, "Oslo", None),
        (2, None, 2**40, "Rome", None),
        (3, None, None, None, "five"),
    ]


def test_soft_deletes_keep_rows_and_their_values(spark: SparkSession, tmp_path: Path) -> None:
    mirror = Mirror(spark, tmp_path, "soft")
    mirror.write(read(1, "Ada", 10), read(2, "Grace", 10))
    mirror.write(change("d", 1, lsn=20), change("d", 9, lsn=21))
    mirror.write(change("u", 1, "older", lsn=15))
    assert mirror.rows("id", "name", "_deleted") == [(1, "Ada", True), (2, "Grace", False), (9, None, True)]
    mirror.write(change("c", 1, "Ada II", lsn=30))
    assert mirror.rows("id", "name", "_deleted")[0] == (1, "Ada II", False)


def test_changes_without_a_key_cannot_be_mirrored(mirror: Mirror) -> None:
    with pytest.raises(QueryFailed, match="the changes have no key"):
        mirror.write(change("c", 1, "Ada", lsn=1, keys=[]))


def test_rows_that_tell_no_change_are_refused(mirror: Mirror, spark: SparkSession) -> None:
    with pytest.raises(QueryFailed, match="no column _cdc"):
        mirror.sink.check(spark.range(1).select(F.col("id")).schema)
