from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them
from pyspark.sql.avro.functions import from_avro, to_avro

from penstock.errors import SchemaError
from penstock.schemas.evolution import Compatibility, reasons_against
from penstock.schemas.registry import RegisteredSchema
from penstock.spark.avro.types import avro_name, schema_of_columns

EVERYTHING = """SELECT true AS a, 1Y AS b, 2S AS c, 3 AS d, 4L AS e, 1.5F AS f, 2.5D AS g, 'text' AS h, X'00FF' AS i,
  DATE'2026-01-02' AS j, TIMESTAMP'2026-01-02 03:04:05.678' AS k, TIMESTAMP_NTZ'2026-01-02 03:04:05' AS l, 12.50 AS m,
  array(1, NULL) AS n, map('k', 5L) AS o, named_struct('x', 1, 'y', named_struct('z', 'deep')) AS p"""


def test_rows_of_every_type_go_through_avro_and_back(spark: SparkSession) -> None:
    rows = spark.sql(EVERYTHING)
    schema = schema_of_columns(rows.schema, "shop.orders")
    assert schema.name == "shop_orders"
    there = rows.selectExpr("struct(*) AS s")
    back = there.select(from_avro(to_avro("s", schema.text), schema.text).alias("s")).select("s.*")
    assert [row.asDict(recursive=True) for row in back.collect()] == [
        row.asDict(recursive=True) for row in rows.collect()
    ]


def test_columns_may_come_and_go_under_the_strictest_rule() -> None:
    one = schema_of_columns(T.StructType([T.StructField("a", T.LongType())]), "t")
    two = schema_of_columns(T.StructType([T.StructField("b", T.StringType())]), "t")
    assert reasons_against(two, [RegisteredSchema("t-value", 1, 1, one)], Compatibility.FULL) == []


def test_fields_are_nullable_with_null_as_default() -> None:
    schema = schema_of_columns(T.StructType([T.StructField("a", T.LongType(), nullable=False)]), "t")
    assert json.loads(schema.text)["fields"] == [{"name": "a", "type": ["null", "long"], "default": None}]


def test_a_column_that_avro_cannot_name_is_refused() -> None:
    with pytest.raises(SchemaError, match="column 'count\\(1\\)' cannot be an Avro field"):
        schema_of_columns(T.StructType([T.StructField("count(1)", T.LongType())]), "t")


def test_a_type_without_a_form_in_avro_is_refused() -> None:
    with pytest.raises(SchemaError, match="interval"):
        schema_of_columns(T.StructType([T.StructField("a", T.DayTimeIntervalType())]), "t")


@pytest.mark.parametrize(("topic", "name"), [("events_avro", "events_avro"), ("a.b-c", "a_b_c"), ("1st", "_1st")])
def test_a_topics_name_becomes_one_that_avro_takes(topic: str, name: str) -> None:
    assert avro_name(topic) == name
