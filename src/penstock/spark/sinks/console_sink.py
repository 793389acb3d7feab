"""Print rows on the screen, for experiments."""

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
    """Sink that prints the first rows of each batch and stores nothing."""

    rows: int = 20

    def check(self, schema: T.StructType) -> None:
        """Accept every schema."""

    def landed(self) -> Position | None:
        """Return None: the sink has no position."""
        return None

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the rows without the origin column."""
        return rows.drop(KAFKA)

    def write(self, formed: DataFrame, batch: Batch) -> None:  # noqa: ARG002 - all batches are alike on a screen
        """Print the first rows; evaluate all rows, so that no rejected message goes unnoticed."""
        formed.write.format("noop").mode("overwrite").save()
        # The output of `show`; control characters must not reach the terminal.
        shown = formed._jdf.showString(self.rows, 0, False)  # noqa: SLF001
        sys.stdout.write(f"{printable_lines(shown)}\n")
