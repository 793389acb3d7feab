"""Checkpoint rows that are read more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Yield the rows, computed once and stored for the block, in memory or on disk.

    Rows are stored row by row: for rows with nested records and lists, at a fraction of the cost of `persist`, which
    stores columns. Delta's MERGE uses the stored rows directly. If a cluster loses a machine with stored partitions,
    the batch is read again.
    """
    made = rows.localCheckpoint()
    try:
        yield made
    finally:
        made._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001 - PySpark has no public way
