"""Number and size of the files of a batch."""

from __future__ import annotations

import math

from pyspark.sql import SparkSession

_ROWS_PER_WRITER = 250_000


def writers(session: SparkSession, size: int) -> int:
    """Return the number of tasks for a batch; each task writes a file per folder, so few tasks mean fewer files."""
    return max(1, min(session.sparkContext.defaultParallelism, math.ceil(size / _ROWS_PER_WRITER)))


class Layout:
    """Estimate, from earlier batches, of how many rows fill a file of the target size."""

    def __init__(self, target_bytes: int) -> None:
        self._target_bytes = target_bytes
        self._bytes_per_row = 0.0

    @property
    def rows_per_file(self) -> int:
        """The maximum number of rows per file; 0 (no limit) until the size of a row is known."""
        return math.ceil(self._target_bytes / self._bytes_per_row) if self._bytes_per_row else 0

    def learn(self, size: int, rows: int) -> None:
        """Update the estimate with the total bytes and rows of a batch."""
        if size and rows:
            self._bytes_per_row = size / rows
