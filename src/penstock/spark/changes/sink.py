"""Base class for sinks that merge Debezium changes. Every change carries a log position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the conventional alias

from penstock.spark.changes.batch import Facts, by_keys, refuse_lost_keys, refuse_own_names
from penstock.spark.changes.table import ChangeTable
from penstock.spark.decoding import KAFKA
from penstock.spark.kept import kept
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

_OF_DELTA: Final = (
    "_row_id_",
    "_file_name_",
    "_source_row_present_",
    "_target_row_present_",
    "_row_dropped_",
    "_metadata",
    "_tmp_metadata_row_index",
)
"""Columns that Delta's MERGE adds to rows. No table may have a column with one of these names."""


class ChangeSink(ABC):
    """Sink in which a repeated change has no effect, so no record of written batches is needed."""

    def __init__(self, session: SparkSession, table: LakeTable, own_names: Sequence[str] = ()) -> None:
        self._table = ChangeTable(session, table)
        self._own_names = (*own_names, *_OF_DELTA)

    def check(self, schema: T.StructType) -> None:
        """Reject rows without change metadata, tables that are not Delta, and reserved column names."""
        self._table.check(schema)
        refuse_own_names(schema.names, self._own_names, self._table.table.name)

    def landed(self) -> Position | None:
        """Return an empty position: the query reads from the start, and repeated changes have no effect."""
        return Position({}, {})

    def form(self, rows: DataFrame) -> DataFrame:
        """Drop the column `_kafka`."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:  # noqa: ARG002 - each row carries its log position
        """Write a batch of changes, separately for each definition of the key. Retried if another commit was faster."""
        refuse_own_names(formed.columns, self._own_names, self._table.table.name)
        with kept(self._table.spelled(formed)) as changes:
            for part, facts in by_keys(changes):
                refuse_lost_keys(part, facts, self._table.table.name)
                if facts.changes:
                    self._table.apply(partial(self._take, part, facts))

    @abstractmethod
    def _take(self, changes: DataFrame, facts: Facts) -> None:
        """Write changes idempotently: the method runs again if another writer changed the table meanwhile."""
