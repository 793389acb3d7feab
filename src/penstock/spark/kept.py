"""Rows that are gone over several times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows as they are now, made once and kept for the block, in memory or on disk.

    Row by row, which costs a fraction of the columns of `persist` where each row has records and lists inside. Delta's
    MERGE takes them as they are. Should a machine of a cluster get lost with its part, the batch is read again.
    """
    made = rows.localCheckpoint()
    try:
        yield made
    finally:
        made._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001 - PySpark has no public way
