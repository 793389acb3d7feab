"""Change log sink: appends every change, unmerged and exactly once, to a Delta table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.spark.changes.table import ChangeTable
from penstock.spark.decoding import KAFKA
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch


class ChangeLogSink(DeltaSink):
    """Appends every change with log position and origin. Columns may change their types."""

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        super().__init__(session, table, query)
        self._changes = ChangeTable(session, table, is_merged=False)

    def check(self, schema: T.StructType) -> None:
        """Reject rows without change metadata, and a table that is not a Delta table. Any columns are accepted."""
        self._changes.check(schema)

    def landed(self) -> Position | None:
        """Return the stored position.

        A new log starts at the first change, regardless of the positions of the pipeline's other sinks.
        """
        return super().landed() or Position({}, {})

    def form(self, rows: DataFrame) -> DataFrame:
        """Drop the column `_kafka`."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """Append a batch exactly once, after adapting the table to the columns of the rows."""
        fitted = self._changes.fitted(self._changes.spelled(formed))
        # The table now has the columns of these rows, so the cached notes are outdated.
        self._notes = None
        super().write(fitted, batch)

    def _properties(self, schema: T.StructType) -> Mapping[str, str]:
        return self._changes.properties(schema)
