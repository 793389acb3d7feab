"""Which values cannot name a folder, where it takes more than the value of one column to know."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.spark.lake.folders import unnameable


@pytest.mark.parametrize(
    ("directory", "columns", "is_refused"),
    [("/lake/events", 14, False), ("/lake/events", 15, True), ("s3a://lake/e", 2, False), ("s3a://lake/e", 3, True)],
)
def test_values_that_make_too_long_a_path_together_are_refused(
    spark: SparkSession, directory: str, columns: int, is_refused: bool
) -> None:
    names = [f"k{number}" for number in range(columns)]
    rows = spark.createDataFrame([("x" * 250,) * columns], ", ".join(f"{name} string" for name in names))
    problem = unnameable(names, rows.schema, directory)
    assert problem is not None
    [(message,)] = rows.select(problem.getField("message")).collect()
    assert (message == "its folders make too long a path") is is_refused
