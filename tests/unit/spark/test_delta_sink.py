"""What a Delta table's log tells a query that starts: how far it is, and who was quicker."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import LedgerLost, QueryInterrupted, TakenOver
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.lake import delta_sink
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

pytestmark = pytest.mark.timeout(600)

PLACE = PartitionId(TopicName("orders"), Partition(0))


def at(offset: int) -> Position:
    return Position({PLACE: Offset(offset)}, {TopicName("orders"): "id"})


def batch(start: int, end: int) -> Batch:
    return Batch("shop.lake", end, at(start), at(end))


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path), "orders")


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(5)


def sink(spark: SparkSession, table: LakeTable, query: str = "shop.lake") -> DeltaSink:
    return DeltaSink(spark, table, query)


def append(rows: DataFrame, table: LakeTable, times: int) -> None:
    for _ in range(times):
        rows.write.format("delta").mode("append").save(table.path)


def test_of_two_drivers_that_both_find_no_table_the_slower_one_writes_nothing_and_goes_on_behind_the_other(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    quick, slow = sink(spark, table), sink(spark, table)
    assert (quick.landed(), slow.landed()) == (None, None)
    quick.write(rows, batch(0, 5))
    with pytest.raises(QueryInterrupted, match="made by another driver"):
        slow.write(spark.range(9), batch(0, 9))
    assert slow.landed() == at(5)
    slow.write(spark.range(4), batch(5, 9))
    assert spark.read.format("delta").load(table.path).count() == 9


def test_a_driver_whose_successor_has_begun_lands_nothing(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    old, new = sink(spark, table), sink(spark, table)
    old.landed()
    old.write(rows, batch(0, 5))
    assert new.landed() == at(5)
    with pytest.raises(TakenOver, match="another driver writes"):
        old.write(rows, batch(5, 10))
    assert spark.read.format("delta").load(table.path).count() == 5
    new.write(rows, batch(5, 10))
    assert spark.read.format("delta").load(table.path).count() == 10


def test_a_batch_that_ends_before_what_has_landed_leaves_the_position(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    first = sink(spark, table)
    first.landed()
    first.write(rows, batch(0, 2000))
    first.write(rows.limit(0), Batch("shop.lake", 2, at(0), at(400), at(2000)))
    assert sink(spark, table).landed() == at(2000)


def test_a_commit_of_somebody_else_between_two_batches_is_no_takeover(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    first = sink(spark, table)
    first.landed()
    for number in range(3):
        first.write(rows, batch(5 * number, 5 * number + 5))
        append(rows, table, 2)
    assert sink(spark, table).landed() == at(15)


def test_a_commit_is_found_behind_many_of_others(
    spark: SparkSession, table: LakeTable, rows: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_sink, "_NEWEST", 2)
    first = sink(spark, table)
    first.landed()
    first.write(rows, batch(0, 5))
    append(rows, table, 3)
    assert sink(spark, table, "another.lake").landed() is None
    assert sink(spark, table).landed() == at(5)


def test_a_log_that_has_forgotten_how_far_a_query_is_is_refused_and_still_takes_new_queries(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    first = sink(spark, table)
    first.landed()
    first.write(rows, batch(0, 5))
    append(rows, table, 1)
    DeltaTable(table.path).create_checkpoint()
    append(rows, table, 1)
    for version in (0, 1):
        Path(table.path, "_delta_log", f"{version:020}.json").unlink()
    with pytest.raises(LedgerLost, match="no longer tells which"):
        sink(spark, table).landed()
    assert sink(spark, table, "another.lake").landed() is None
