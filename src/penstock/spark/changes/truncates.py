"""The truncates of a table whose history is kept: rows that come late may be older than one of them.

They lie beside the table and are written before it. A crash in between is harmless: the batch comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.changes.batch import Facts
from penstock.spark.changes.noted import forget_noted, note
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.hadoop_files import files_at
from penstock.spark.internal_names import internal
from penstock.spark.lake.delta_log import is_delta_table
from penstock.spark.lake.table import LakeTable

LSN: Final = internal("lsn")
_STORED_LSN: Final = "_lsn"


@dataclass(frozen=True)
class Truncates:
    """Truncates: where they stand in the database's log, and what is told of each, in `_cdc` beside its `_lsn`."""

    lsns: tuple[int, ...]
    told: DataFrame


class TruncateMemory:
    """Where the truncates of a table stood; kept for so many days."""

    def __init__(self, session: SparkSession, table: LakeTable, days: int) -> None:
        self._files = files_at(table.lake, session)
        self._path = f"{table.internal}/truncates"
        self._days = days
        self._lsns: set[int] | None = None

    def take(self, changes: DataFrame, facts: Facts) -> Truncates | None:
        """Remember the truncates of a batch; all that its rows may be older than, None if there are none."""
        known = self._known(changes.sparkSession)
        if facts.truncated is not None:
            self._note(
                changes.filter(f"{CDC}.op = 't'").select(F.expr(f"coalesce({CDC}.lsn, 0L)").alias(LSN), CDC), known
            )
        newest = max(known, default=0)
        if facts.truncated is None and facts.first >= (newest, newest):
            return None
        return Truncates(tuple(sorted(known)), self._read(changes.sparkSession))

    def _note(self, truncates: DataFrame, known: set[int]) -> None:
        new = {row[0] for row in truncates.select(LSN).collect()} - known
        if new:
            note(truncates.filter(F.col(LSN).isin(*new)).withColumnRenamed(LSN, _STORED_LSN), self._path)
            known |= new

    def _known(self, session: SparkSession) -> set[int]:
        if self._lsns is None:
            found = self._read(session).select(LSN).collect() if is_delta_table(self._files, self._path) else []
            self._lsns = {row[0] for row in found}
        return self._lsns

    def _read(self, session: SparkSession) -> DataFrame:
        return session.read.format("delta").load(self._path).withColumnRenamed(_STORED_LSN, LSN)

    def forget(self, session: SparkSession) -> None:
        """Drop what is older than a replay can be."""
        if is_delta_table(self._files, self._path):
            forget_noted(session, self._path, self._days)
