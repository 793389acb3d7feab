"""Sink of metadata jobs: copies the rows of a batch into staging, and merges them into the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.catalog.errors import RowRefused
from penstock.catalog.jobs.left_out import LeftOut
from penstock.catalog.processors.base import PROBLEM
from penstock.catalog.staging.copying import ArrowTable, Lines, origins
from penstock.catalog.staging.lines import copy_lines
from penstock.catalog.staging.rows import Refusal
from penstock.errors import PenstockError
from penstock.events.record import Origin
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch, Rest

Take = Callable[[Lines, Batch], list[Refusal]]
"""Stores the rows of a batch durably and returns the rejected rows."""


@dataclass(frozen=True)
class CatalogSink:
    """Collects the rows of a batch and passes them on. Rows repeated after a crash have no effect.

    The sink reports no landed position: rejected rows are only found by processing all rows of the batch again.
    """

    columns: Sequence[str]
    take: Take
    left_out: LeftOut

    def check(self, schema: T.StructType) -> None:
        """Accept any schema: the columns were compared with the table when the job was read."""

    def landed(self) -> Position | None:
        """Return None: the sink stores no position."""
        return None

    def form(self, rows: DataFrame) -> DataFrame:
        """Convert the rows to lines for COPY, or to their problems."""
        return copy_lines(rows, self.columns)

    def write(self, formed: DataFrame, batch: Batch) -> Rest:
        """Collect the rows. The returned rest stores them in PostgreSQL while Spark prepares the next batch."""
        table = formed.toArrow()
        return partial(self._take_all, table, batch, self.left_out.counts(table.num_rows))

    def _take_all(self, table: ArrowTable, batch: Batch, left_out: Mapping[str, int]) -> Mapping[Origin, PenstockError]:
        is_good = pc.is_null(table[PROBLEM])
        bad, lines = table.filter(pc.invert(is_good)), Lines(self.columns, table.filter(is_good))
        problems = zip(origins(bad), bad[PROBLEM].to_pylist(), strict=True)
        told: dict[Origin, PenstockError] = {origin: RowRefused(f"{origin}: {text}") for origin, text in problems}
        refused = {refusal.row.origin: refusal.error for refusal in self.take(lines, batch)}
        self.left_out.pending = left_out
        return told | refused
