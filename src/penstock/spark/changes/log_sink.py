"""Changes as they came, each exactly once, appended to a Delta table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.spark.changes.table import ChangeTable
from penstock.spark.decoding import KAFKA
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch


class ChangeLogSink(DeltaSink):
    """Appends every change with its position and its origin; columns that change their types find room."""

    def __init__(self, session: SparkSession, table: LakeTable, query: str) -> None:
        super().__init__(session, table, query)
        self._changes = ChangeTable(session, table, is_merged=False)

    def check(self, schema: T.StructType) -> None:
        """As the protocol says: changes of any columns find room."""
        self._changes.check(schema)

    def landed(self) -> Position | None:
        """As the protocol says; a log begins with the first change, wherever other sinks of the pipeline are."""
        return super().landed() or Position({}, {})

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:
        """As the protocol says: exactly once."""
        fitted = self._changes.fitted(self._changes.spelled(formed))
        # The table has the columns that these rows need, whatever was known of it before.
        self._notes = None
        super().write(fitted, batch)

    def _properties(self, schema: T.StructType) -> Mapping[str, str]:
        return self._changes.properties(schema)
