"""Tables of what must be remembered beside a table for a time: each row has the moment at which it was noted."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.changes.delta_rows import DeltaRows


def note(rows: DataFrame, path: str) -> None:
    """Add rows to what is noted, in one file."""
    rows.withColumn("noted_at", F.current_timestamp()).coalesce(1).write.format("delta").mode("append").save(path)


def forget_noted(session: SparkSession, path: str, days: int) -> None:
    """Drop what was noted longer ago."""
    DeltaRows(session, path).delete(F.col("noted_at") < F.current_timestamp() - F.make_dt_interval(F.lit(days)))
