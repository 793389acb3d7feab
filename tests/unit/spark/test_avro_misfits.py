"""Rows whose values an Avro schema forbids are known before they are written."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from penstock.config import load_settings
from penstock.schemas import Schema
from penstock.spark.sinks.kafka_sink import KafkaSink, TopicTarget

FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "kind", "type": ["null", {"type": "enum", "name": "Kind", "symbols": ["a", "b"]}]},
    {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 2}},
]
SCHEMA = Schema.from_text(json.dumps({"type": "record", "name": "Row", "fields": FIELDS}))


def test_rows_with_values_that_the_schema_forbids_have_a_problem(spark: SparkSession) -> None:
    values = [(1, "a", b"xy"), (2, None, b"xy"), (None, "a", b"xy"), (4, "c", b"xy"), (5, "b", b"xyz"), (6, "b", None)]
    rows = spark.createDataFrame(values, "id long, kind string, code binary")
    problem = KafkaSink(load_settings(env={}).settings, TopicTarget("rows", schema=SCHEMA)).unfit(rows.schema)
    assert problem is not None
    assert [row[0] for row in rows.select(problem.getField("message")).collect()] == [
        None,
        None,
        "column id is null, and its schema forbids that",
        "column kind has a value that is not in its enum",
        "column code does not have the 2 bytes of its type",
        "column code is null, and its schema forbids that",
    ]


def test_a_schema_that_is_derived_from_the_rows_forbids_nothing(spark: SparkSession) -> None:
    sink = KafkaSink(load_settings(env={}).settings, TopicTarget("rows"))
    assert sink.unfit(spark.createDataFrame([], "id long not null").schema) is None
