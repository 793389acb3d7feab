"""Tables of changes are compacted while changes are written, and readers of an older version find its files."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import TableChanged
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.changes.table import ChangeTable
from penstock.spark.changes.upkeep import Upkeep
from penstock.spark.lake.table import LakeTable
from tests.changes import Changes, change

pytestmark = pytest.mark.timeout(600)


def files(directory: Path) -> int:
    return len(list((directory / "shop" / "people").glob("*.parquet")))


def age(directory: Path, hours: int) -> None:
    """Make the table's files as old as files that were written some hours ago."""
    then = time.time() - hours * 3600
    for file in directory.glob("*.parquet"):
        os.utime(file, (then, then))


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path), "shop/people")


def test_small_files_become_one_and_old_ones_go_when_no_reader_needs_them(
    spark: SparkSession, tmp_path: Path, table: LakeTable
) -> None:
    mirror = Changes(spark, tmp_path, MirrorSink)
    mirror.write(change("c", 1, "one", lsn=10))
    mirror.write(change("c", 2, "two", lsn=20), change("d", 3, lsn=21))
    rows, before = mirror.rows(), files(tmp_path)
    Upkeep(spark, keep_hours=1).tidy(table)
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{table.path}`").select("numFiles", "properties").collect()[0]
    assert (detail["numFiles"], mirror.rows()) == (1, rows)
    assert detail["properties"]["delta.deletedFileRetentionDuration"] == "interval 1 hours"
    assert files(tmp_path) == before + 1
    older = spark.read.format("delta").option("versionAsOf", 1).load(table.path)
    assert older.count() == 1

    age(tmp_path / "shop" / "people", hours=25)
    Upkeep(spark, keep_hours=0).tidy(table)
    assert (files(tmp_path), mirror.rows()) == (1, rows)


def test_the_files_of_a_batch_in_progress_stay_for_a_day_whatever_keep_versions_is(
    spark: SparkSession, tmp_path: Path, table: LakeTable
) -> None:
    Changes(spark, tmp_path, MirrorSink).write(change("c", 1, "one", lsn=10))
    uncommitted = tmp_path / "shop" / "people" / "part-00000-uncommitted.snappy.parquet"
    uncommitted.write_bytes(b"rows of a batch")
    for hours in (3, 23):
        age(uncommitted.parent, hours=hours)
        Upkeep(spark, keep_hours=1).tidy(table)
        assert uncommitted.exists()
    age(uncommitted.parent, hours=25)
    Upkeep(spark, keep_hours=1).tidy(table)
    assert not uncommitted.exists(), "a killed driver's files go in the end"


def test_a_stream_goes_on_while_its_table_is_compacted(spark: SparkSession, tmp_path: Path, table: LakeTable) -> None:
    mirror, ended = Changes(spark, tmp_path, MirrorSink), threading.Event()
    mirror.write(*(change("c", number, "first", lsn=number + 1) for number in range(20)))

    def tidy() -> None:
        while not ended.is_set():
            try:
                Upkeep(spark, keep_hours=1).tidy(table)
            except TableChanged:
                continue

    tidying = threading.Thread(target=tidy)
    tidying.start()
    for turn in range(1, 3):
        mirror.write(*(change("u", number, f"turn {turn}", lsn=100 * turn + number) for number in range(20)))
    ended.set()
    tidying.join()
    assert mirror.rows("id", "name") == [(number, "turn 2") for number in range(20)]


def test_a_change_that_lost_against_a_compaction_is_made_again(spark: SparkSession, table: LakeTable) -> None:
    tries = []

    def lose_twice() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise TableChanged("files were merged meanwhile")

    ChangeTable(spark, table).apply(lose_twice)
    assert len(tries) == 3
