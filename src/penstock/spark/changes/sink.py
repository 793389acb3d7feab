"""What mirrors and histories have in common: they take changes, each of which tells its own place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

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
"""The columns that a MERGE of Delta adds to rows, which therefore no table may have."""


class ChangeSink(ABC):
    """A sink in which a change that comes again changes nothing, so that no memory of batches is needed."""

    def __init__(self, session: SparkSession, table: LakeTable, own_names: Sequence[str] = ()) -> None:
        self._table = ChangeTable(session, table)
        self._own_names = (*own_names, *_OF_DELTA)

    def check(self, schema: T.StructType) -> None:
        """As the protocol says."""
        self._table.check(schema)
        refuse_own_names(schema.names, self._own_names, self._table.table.name)

    def landed(self) -> Position | None:
        """As the protocol says: nothing is known, so all is read from the start; what comes again changes nothing."""
        return Position({}, {})

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:  # noqa: ARG002 - every row tells its own position
        """As the protocol says."""
        refuse_own_names(formed.columns, self._own_names, self._table.table.name)
        with kept(self._table.spelled(formed)) as changes:
            for part, facts in by_keys(changes):
                refuse_lost_keys(part, facts, self._table.table.name)
                if facts.changes:
                    self._table.apply(partial(self._take, part, facts))

    @abstractmethod
    def _take(self, changes: DataFrame, facts: Facts) -> None:
        """Write the changes, which may have come before; called again if somebody else changed the table meanwhile."""
