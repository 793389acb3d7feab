"""Memory of a history table's truncates, because late rows may be older than a truncate.

The memory is stored next to the table and written first. A crash between the two writes is harmless: the batch is
repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

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
    """Log positions of truncates, and the change metadata of each truncate."""

    lsns: tuple[int, ...]
    told: DataFrame


class TruncateMemory:
    """Positions of a table's truncates, stored for a number of days."""

    def __init__(self, session: SparkSession, table: LakeTable, days: int) -> None:
        self._files = files_at(table.lake, session)
        self._path = f"{table.internal}/truncates"
        self._days = days
        self._lsns: set[int] | None = None

    def take(self, changes: DataFrame, facts: Facts) -> Truncates | None:
        """Store the truncates of a batch. Return all known truncates, or None if no row of the batch can be older."""
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
        """Delete truncates older than the configured days, the longest possible replay."""
        if is_delta_table(self._files, self._path):
            forget_noted(session, self._path, self._days)
