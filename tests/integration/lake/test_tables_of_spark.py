"""Delta tables as Spark leaves them, read by those who know nothing of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.cli.answer_view import first_rows
from penstock.config import load_settings
from penstock.lake.lake import Lake
from penstock.lake.question import ask


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(load_settings(env={}, options={"lake": str(tmp_path)}).settings)


def answer(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    with ask(lake, sql) as found:
        return first_rows(found, 0).rows


@pytest.mark.timeout(300)
def test_rows_behind_deletion_vectors_are_gone(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    kind = F.when(F.col("id") % 2 == 0, "view").otherwise("click").alias("kind")
    at = F.to_timestamp(F.lit("2026-01-31 12:00:00")).alias("at")
    writing = spark.range(0, 100, 1, 1).select("id", kind, at).write.format("delta").partitionBy("kind")
    writing.option("delta.enableDeletionVectors", "true").save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 10 OR id = 50")  # noqa: S608 - a path of pytest's
    assert "deletionVector" in "".join(log.read_text() for log in (tmp_path / "events" / "_delta_log").glob("*.json"))
    assert lake.table("events").summary().rows == 89
    assert answer(lake, "SELECT count(*), min(id), sum(id) FROM events") == [(89, 10, sum(range(10, 100)) - 50)]
    assert answer(lake, "SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 1") == [("click", 45), ("view", 44)]
    twice = "SELECT a.at::VARCHAR, b.id FROM events a JOIN events b USING (id) WHERE b.id IN (9, 11, 50)"
    assert answer(lake, twice) == [("2026-01-31 12:00:00+00", 11)]
