"""The memory of what was deleted: without it, an older change that comes again would bring a deleted row back.

It lies beside the table and is written before it. A crash in between is harmless: the memory only holds back changes
that are older than the deletion, and the batch comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.table import LakeTable

_KEY: Final = "_key"
_PLACE: Final = "_place"
_WHOLE_TABLE: Final = "*"
_COLUMNS: Final = "_key string, commit bigint, lsn bigint"


class DeleteMemory:
    """Which rows were deleted, and where in the database's log; kept for so many days."""

    def __init__(self, session: SparkSession, table: LakeTable, days: int) -> None:
        self._files = files_at(table.lake, session)
        self._path = f"{table.internal}/deletes"
        self._days = days
        self._is_there: bool | None = None

    def note(self, last: DataFrame, keys: Sequence[str]) -> None:
        """Remember the rows among these that are deleted."""
        self._add(last.filter(F.col(CDC).getField("op") == "d").select(_key(keys).alias(_KEY), *_position()))

    def note_truncate(self, session: SparkSession, lsn: int) -> None:
        """Remember that all rows were deleted."""
        self._add(session.createDataFrame([(_WHOLE_TABLE, lsn, lsn)], _COLUMNS))

    def _add(self, deleted: DataFrame) -> None:
        noted = deleted.withColumn("noted_at", F.current_timestamp()).coalesce(1)
        noted.write.format("delta").mode("append").save(self._path)
        self._is_there = True

    def without_stale(self, last: DataFrame, keys: Sequence[str]) -> DataFrame:
        """The changes that are not older than a deletion of their row."""
        if not self._exists():
            return last
        memory = last.sparkSession.read.format("delta").load(self._path)
        newest = memory.groupBy(_KEY).agg(F.max(F.struct("commit", "lsn")).alias(_PLACE))
        changes = last.withColumn(_KEY, _key(keys)).withColumn("_now", F.struct(*_position()))
        is_same = (F.col(f"changes.{_KEY}") == F.col(f"newest.{_KEY}")) | (F.col(f"newest.{_KEY}") == _WHOLE_TABLE)
        is_older = F.col("changes._now") < F.col(f"newest.{_PLACE}")
        kept = changes.alias("changes").join(newest.alias("newest"), is_same & is_older, "left_anti")
        return kept.drop(_KEY, "_now")

    def forget(self, session: SparkSession) -> None:
        """Drop what is older than a replay can be."""
        if self._exists():
            kept = f"current_timestamp() - INTERVAL {self._days} DAYS"
            session.sql(f"DELETE FROM delta.`{self._path}` WHERE noted_at < {kept}")  # noqa: S608 - a path of ours

    def _exists(self) -> bool:
        if self._is_there is None:
            self._is_there = bool(self._files.below(f"{self._path}/_delta_log"))
        return self._is_there


def _position() -> list[Column]:
    cdc = F.col(CDC)
    lsn = F.coalesce(cdc.getField("lsn"), F.lit(0))
    return [F.coalesce(cdc.getField("commit"), lsn).alias("commit"), lsn.alias("lsn")]


def _key(keys: Sequence[str]) -> Column:
    return F.to_json(F.struct(*map(quoted, keys)))
