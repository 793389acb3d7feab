"""The sink of metadata jobs: the rows of a batch go through COPY into staging, and on into the catalog."""

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
"""Makes the rows of a batch durable, and gives back those that are refused."""


@dataclass(frozen=True)
class CatalogSink:
    """Collects the rows of a batch and hands them on; rows that come again by a crash change nothing.

    What has landed is not looked at: the rows that are refused are only found by giving all of them again.
    """

    columns: Sequence[str]
    take: Take
    left_out: LeftOut

    def check(self, schema: T.StructType) -> None:
        """As the protocol says; the columns were compared with the table when the job was read."""

    def landed(self) -> Position | None:
        """As the protocol says."""
        return None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        return copy_lines(rows, self.columns)

    def write(self, formed: DataFrame, batch: Batch) -> Rest:
        """As the protocol says: PostgreSQL takes the rows while Spark makes the next ones."""
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
