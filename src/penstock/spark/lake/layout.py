"""How many files a batch makes, and how large they get."""

from __future__ import annotations

import math

from pyspark.sql import SparkSession

_ROWS_PER_WRITER = 250_000


def writers(session: SparkSession, size: int) -> int:
    """How many tasks write a batch: each of them makes a file in every folder, so as few as are worth it."""
    return max(1, min(session.sparkContext.defaultParallelism, math.ceil(size / _ROWS_PER_WRITER)))


class Layout:
    """Learns from the batches so far how many rows make a file of the wanted size."""

    def __init__(self, target_bytes: int) -> None:
        self._target_bytes = target_bytes
        self._bytes_per_row = 0.0

    @property
    def rows_per_file(self) -> int:
        """How many rows one file may have; 0 while nothing is known, which means no limit."""
        return math.ceil(self._target_bytes / self._bytes_per_row) if self._bytes_per_row else 0

    def learn(self, size: int, rows: int) -> None:
        """Take a batch's files into account."""
        if size and rows:
            self._bytes_per_row = size / rows
