"""Conditions of a merge: every row that a change is about meets them, and few others do."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from operator import and_

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.changes.near import coarse, near


@pytest.mark.parametrize(
    ("low", "high", "most", "found"),
    [
        (17, 998_765, 2**31 - 1, (0, 1_000_000)),
        (4_000_123, 4_009_456, 2**31 - 1, (4_000_000, 4_010_000)),
        (5, 5, 2**31 - 1, (5, 5)),
        (-120, 127, 127, (-128, 127)),
        (-3, 7, 2**31 - 1, (-10, 10)),
    ],
)
def test_the_range_of_a_batch_is_widened_to_round_numbers_within_its_type(
    low: int, high: int, most: int, found: tuple[int, int]
) -> None:
    assert coarse(low, high, most) == found


def met(table: DataFrame, changes: DataFrame, *keys: str, most: int = 1000) -> DataFrame:
    conditions = near(changes, keys, most)
    assert conditions
    return table.alias("t").where(reduce(and_, conditions))


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a bigint, b string", [(1, "x"), (-5, "y"), (2**63 - 1, ""), (7, None)]),
        ("a string, b int", [("O'Neil \\\\", 1), ("ü", 2), ("", 3)]),
        ("a bigint, b int", [(None, 1), (5, 2)]),
        ("a double, b int", [(0.0, 1), (float("nan"), 2), (-1.5, 3)]),
        ("a decimal(30, 2), b int", [(Decimal("1234567890123456789012.34"), 1), (Decimal("-0.01"), 2)]),
        ("a binary, b boolean", [(b"\x00\xff", True), (b"", False)]),
        ("a array<int>, b date", [([1, 2], None), ([], None)]),
    ],
)
def test_every_row_with_the_key_of_a_change_meets_the_conditions(
    spark: SparkSession, columns: str, rows: list[tuple[object, ...]]
) -> None:
    changes = spark.createDataFrame(rows, columns)

    assert met(changes, changes, "a", "b").count() == len(rows)


def test_keys_that_are_equal_but_stored_otherwise_meet_the_conditions(spark: SparkSession) -> None:
    table = spark.createDataFrame([(-0.0,)], "a double")

    assert met(table, spark.createDataFrame([(0.0,)], "a double"), "a").count() == 1


def test_few_rows_of_other_keys_meet_the_conditions(spark: SparkSession) -> None:
    table, changes = spark.range(100_000), spark.range(0, 100_000, 1000)

    assert 100 <= met(table, changes, "id").count() < 100_000 / 6


def test_beyond_so_many_changes_only_the_range_of_their_keys_is_told(spark: SparkSession) -> None:
    found = near(spark.range(10, 21), ["id"], 100_001)

    assert found is not None
    assert [row["id"] for row in spark.range(100).alias("t").where(reduce(and_, found)).collect()] == [*range(10, 21)]


def test_no_changes_need_no_merge(spark: SparkSession) -> None:
    assert near(spark.range(0), ["id"], 0) is None
