"""Rows on the screen, for trying things."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.config.printable import printable_lines
from penstock.spark.decoding import KAFKA
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the first rows of each batch; nothing is kept."""

    rows: int = 20

    def check(self, schema: T.StructType) -> None:
        """As the protocol says: every row can be printed."""

    def landed(self) -> Position | None:
        """As the protocol says."""
        return None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:  # noqa: ARG002 - all batches are alike on a screen
        """As the protocol says; all rows are looked at, so that none that is refused goes by unseen."""
        formed.write.format("noop").mode("overwrite").save()
        # What `show` prints, which a terminal must not obey.
        shown = formed._jdf.showString(self.rows, 0, False)  # noqa: SLF001
        sys.stdout.write(f"{printable_lines(shown)}\n")
