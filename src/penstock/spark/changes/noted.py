"""Helper tables with data that must be remembered for a time, each row with the timestamp `noted_at`."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.changes.delta_rows import DeltaRows


def note(rows: DataFrame, path: str) -> None:
    """Append rows with the current timestamp, as a single file."""
    rows.withColumn("noted_at", F.current_timestamp()).coalesce(1).write.format("delta").mode("append").save(path)


def forget_noted(session: SparkSession, path: str, days: int) -> None:
    """Delete rows noted more than `days` ago."""
    DeltaRows(session, path).delete(F.col("noted_at") < F.current_timestamp() - F.make_dt_interval(F.lit(days)))
