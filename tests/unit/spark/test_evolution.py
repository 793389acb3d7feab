from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import ConfigError, SchemaIncompatible
from penstock.spark.lake.evolution import conformed, evolved
from penstock.spark.lake.table import LakeTable
from penstock.spark.lake.table_notes import TableNotes, next_notes


def struct(**columns: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


INT, LONG, TEXT, DOUBLE = T.IntegerType(), T.LongType(), T.StringType(), T.DoubleType()


@pytest.mark.parametrize(
    ("table", "rows", "after"),
    [
        (struct(), struct(a=INT), struct(a=INT)),
        (struct(a=INT), struct(a=INT, b=TEXT), struct(a=INT, b=TEXT)),
        (struct(a=INT, b=TEXT), struct(b=TEXT), struct(a=INT, b=TEXT)),
        (struct(a=LONG), struct(a=INT), struct(a=LONG)),
        (struct(a=DOUBLE), struct(a=T.FloatType()), struct(a=DOUBLE)),
        (struct(a=T.DecimalType(10, 2)), struct(a=T.DecimalType(6, 2)), struct(a=T.DecimalType(10, 2))),
        (struct(s=struct(x=INT)), struct(s=struct(x=INT, y=TEXT)), struct(s=struct(x=INT, y=TEXT))),
        (
            struct(l=T.ArrayType(struct(x=INT))),
            struct(l=T.ArrayType(struct(y=INT))),
            struct(l=T.ArrayType(struct(x=INT, y=INT))),
        ),
    ],
)
def test_columns_appear_and_narrow_numbers_widen(table: T.StructType, rows: T.StructType, after: T.StructType) -> None:
    assert evolved(table, rows, "t") == after


@pytest.mark.parametrize(
    ("table", "rows", "reason"),
    [
        (struct(a=INT), struct(a=LONG), "column a is int in the table's files and bigint in the rows"),
        (struct(a=TEXT), struct(a=INT), "column a is string in the table's files and int in the rows"),
        (struct(a=T.DecimalType(6, 2)), struct(a=T.DecimalType(6, 3)), "column a is decimal"),
        (struct(s=struct(x=INT)), struct(s=struct(x=TEXT)), "column s.x is int"),
        (struct(l=T.ArrayType(INT)), struct(l=T.ArrayType(TEXT)), r"column l\[\] is int"),
        (struct(s=struct(x=INT)), struct(s=TEXT), "column s is struct<x:int> in the table's files and string"),
        (struct(User=TEXT), struct(user=TEXT), "column user differs from User only by case"),
        (struct(), struct(a=T.NullType()), "column a is always null"),
    ],
)
def test_a_change_that_cannot_be_read_back_is_refused(table: T.StructType, rows: T.StructType, reason: str) -> None:
    with pytest.raises(SchemaIncompatible, match=reason) as raised:
        evolved(table, rows, "t")
    assert "cast the column" in raised.value.hint


def test_a_required_column_may_be_missing_later() -> None:
    required = T.StructType([T.StructField("a", INT, nullable=False)])
    assert evolved(struct(), required, "t") == struct(a=INT)


def test_a_table_keeps_its_folders() -> None:
    notes = TableNotes(struct(a=INT, b=TEXT), ("a",))
    with pytest.raises(ConfigError, match="it is partitioned by a, not by b"):
        next_notes(LakeTable("lake", "t", ("b",)), notes, struct(a=INT, b=TEXT))


def test_a_column_to_partition_by_must_be_there() -> None:
    with pytest.raises(ConfigError, match="there is no column day to partition by"):
        next_notes(LakeTable("lake", "t", ("day",)), None, struct(a=INT))


def test_rows_get_the_tables_columns_in_its_order(spark: SparkSession) -> None:
    table = struct(a=LONG, gone=TEXT, s=struct(x=INT, y=TEXT), l=T.ArrayType(LONG))
    rows = spark.sql("SELECT array(1) AS l, named_struct('y', 'why', 'x', 2) AS s, 3 AS a")
    shaped = conformed(rows, table)
    assert shaped.schema.names == table.names
    assert shaped.select("a", "gone", "s.*", "l").collect() == [(3, None, 2, "why", [1])]
