"""Rows into a Delta table, exactly once: a batch and the position that it leads to are one commit of the table's log.

A reader of Delta sees all of a batch or nothing. Every commit carries the query's name and position, so after a crash
the table itself tells how far it is. Delta's own transaction numbers, which only grow, keep a driver that was taken for
dead from committing after its successor.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.spark.decoding import KAFKA, without_origin
from penstock.spark.failures import spark_failures
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.evolution import conformed
from penstock.spark.lake.layout import writers
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, next_notes
from penstock.spark.position import Position
from penstock.spark.sink import Batch

_NEWEST = 50


class DeltaSink:
    """One query's way into one Delta table."""

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        self._session = session
        self._files = files_at(table.lake, session)
        self._table = table
        self._query = query
        self._notes: TableNotes | None = None

    def check(self, schema: T.StructType) -> None:
        """As the protocol says."""
        next_notes(self._table, self._read_notes(), without_origin(schema))

    def landed(self) -> Position | None:
        """As the protocol says; Delta leaves nothing half done."""
        self._notes = self._read_notes()
        return next(self._positions(), None) if self._notes else None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        plain = rows.drop(KAFKA)
        return conformed(plain, next_notes(self._table, self._notes, plain.schema).columns)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """As the protocol says: exactly once."""
        about = json.dumps({"query": self._query, "end": batch.end.as_data()})
        writing = formed.coalesce(writers(self._session, batch.size)).write.format("delta").mode("append")
        with_columns = writing.option("mergeSchema", "true").partitionBy(*self._table.partition_by)
        once = with_columns.option("txnAppId", self._query).option("txnVersion", batch.number)
        once.option("userMetadata", about).save(self._table.path)
        self._notes = next_notes(self._table, self._notes, formed.schema)

    def _read_notes(self) -> TableNotes | None:
        if not self._files.below(f"{self._table.path}/_delta_log"):
            return None
        with spark_failures(f"reading table {self._table.name}"):
            columns = self._session.read.format("delta").load(self._table.path).schema
            detail = self._session.sql(f"DESCRIBE DETAIL {delta_path(self._table)}").select("partitionColumns")
            return TableNotes(columns, tuple(detail.collect()[0][0]))

    def _positions(self) -> Iterator[Position]:
        """The positions of the query's commits, the newest first; all of the log is only read if it has to be."""
        for limit in (f" LIMIT {_NEWEST}", ""):
            history = self._session.sql(f"DESCRIBE HISTORY {delta_path(self._table)}{limit}")
            for (about,) in history.where("userMetadata IS NOT NULL").select("userMetadata").collect():
                if (position := position_in(about, self._query)) is not None:
                    yield position


def position_in(about: str, query: str) -> Position | None:
    """The position that a commit's note holds, if it is one of this query's; others may write to the table too."""
    try:
        data = json.loads(about)
    except ValueError:
        return None
    is_own = isinstance(data, dict) and data.get("query") == query
    return Position.from_data(data["end"]) if is_own else None


def delta_path(table: LakeTable) -> str:
    """The table as SQL names it."""
    escaped = table.path.replace("`", "``")
    return f"delta.`{escaped}`"
