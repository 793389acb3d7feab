"""What a ledger tells a query that starts, and what two drivers of the same query do to each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import LedgerLost, TakenOver
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.files import LocalFiles
from penstock.spark.lake.ledger import ledger_of
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import NOWHERE, Position
from penstock.spark.sinks.sink import Batch

PLACE = PartitionId(TopicName("orders"), Partition(0))
QUERY = "shop.lake"


def at(offset: int) -> Position:
    return Position({PLACE: Offset(offset)}, {TopicName("orders"): "id"})


def batch(start: int, end: int, landed: Position = NOWHERE) -> Batch:
    return Batch(QUERY, end, at(start), at(end), landed)


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path), "orders")


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(5)


def sink(spark: SparkSession, table: LakeTable) -> ParquetSink:
    return ParquetSink(spark, table, QUERY)


def count(spark: SparkSession, table: LakeTable) -> int:
    return spark.read.parquet(table.path).count()


def test_a_batch_that_ends_before_what_has_landed_leaves_the_position(
    spark: SparkSession, table: LakeTable, rows: DataFrame
) -> None:
    first = sink(spark, table)
    assert first.landed() is None
    first.write(rows, batch(0, 2000))
    first.write(rows.limit(0), batch(0, 400, at(2000)))
    assert sink(spark, table).landed() == at(2000)


def test_an_overtaken_driver_leaves_the_files_of_its_successor(
    spark: SparkSession, table: LakeTable, rows: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old driver has claimed the table, and removes what it found staged while its successor writes a batch."""
    old, new = sink(spark, table), sink(spark, table)
    LocalFiles().write(f"{table.state(QUERY)}/staging/dead/1/part-0.parquet", b"left behind")
    remove, moves = old._files.remove, new._moves

    def late(path: str) -> None:
        monkeypatch.setattr(new, "_moves", lambda *given: (remove(path), moves(*given))[1])
        monkeypatch.setattr(old._files, "remove", remove)
        new.landed()
        new.write(rows, batch(0, 5))

    monkeypatch.setattr(old._files, "remove", late)
    old.landed()
    assert count(spark, table) == 5
    with pytest.raises(TakenOver):
        old.write(rows, batch(0, 5))
    assert sink(spark, table).landed() == at(5)
    assert LocalFiles().names(f"{table.state(QUERY)}/staging") == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"number": 7}'])
def test_a_damaged_entry_is_refused_and_named(
    spark: SparkSession, table: LakeTable, rows: DataFrame, content: bytes
) -> None:
    first = sink(spark, table)
    first.landed()
    first.write(rows, batch(0, 5))
    ledger = Path(ledger_of(table, QUERY))
    newest = max(ledger.iterdir())
    newest.write_bytes(content)
    with pytest.raises(LedgerLost, match=newest.name) as raised:
        sink(spark, table).landed()
    assert "part-*-2-*.parquet" in raised.value.hint


def test_a_ledger_that_was_restored_from_an_older_copy_is_refused(
    spark: SparkSession, table: LakeTable, rows: DataFrame, tmp_path: Path
) -> None:
    """A batch with the number of one that is in the table would replace its files."""
    first = sink(spark, table)
    first.landed()
    first.write(rows, batch(0, 5))
    shutil.copytree(table.internal, tmp_path / "copy")
    first.write(spark.range(5, 10), batch(5, 10))
    shutil.rmtree(table.internal)
    shutil.copytree(tmp_path / "copy", table.internal)
    with pytest.raises(LedgerLost, match="their ledger ends at batch 2"):
        sink(spark, table).landed()
    assert count(spark, table) == 10
