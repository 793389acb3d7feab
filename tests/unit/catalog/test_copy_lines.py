from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.catalog.staging.copying import LINE
from penstock.catalog.staging.lines import copy_lines

KAFKA = "_kafka struct<topic: string, partition: int, offset: bigint>"


def lines(spark: SparkSession, columns: str, *values: object) -> list[tuple[str | None, str | None]]:
    """The line and the problem of a row with these values."""
    rows = spark.createDataFrame([(*values, None, ("t", 1, 2))], f"{columns}, problem string, {KAFKA}")
    return [(row[LINE], row["problem"]) for row in copy_lines(rows, rows.columns[:-2]).collect()]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", "a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e"),
        ("string", "\\N", "\\\\N"),
        ("string", "", ""),
        ("string", None, "\\N"),
        ("bigint", -5, "-5"),
        ("boolean", True, "true"),
        ("binary", bytearray(b"\x01\xff"), "\\\\x01FF"),
        ("array<string>", ["a"], '["a"]'),
        ("map<string, int>", {"a": 1}, '{"a":1}'),
    ],
)
def test_values_are_written_as_copy_reads_them(spark: SparkSession, kind: str, value: object, text: str) -> None:
    assert lines(spark, f"x {kind}", value) == [(f"{text}\tt\t1\t2\n", None)]


def test_what_postgresql_would_refuse_is_found_before(spark: SparkSession) -> None:
    [(line, problem)] = lines(spark, "a string, b string", "fine", "x\x00y")
    assert (line, problem) == (None, "b has a NUL character, which PostgreSQL does not take")
    [(line, problem)] = lines(spark, "a string", "x" * 9_000_000)
    assert (line, problem) == (None, "a has 9,000,000 bytes, 8,388,608 are allowed")


def test_a_row_with_a_problem_has_no_line(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", "it lacks a key", ("t", 1, 2))], f"x string, problem string, {KAFKA}")
    [row] = copy_lines(rows, ["x"]).collect()
    assert (row["problem"], row[LINE], row["offset"]) == ("it lacks a key", None, 2)
