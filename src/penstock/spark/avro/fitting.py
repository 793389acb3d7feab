"""Whether rows fit an Avro schema, as Spark's own writer sees it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.schemas import Schema
from penstock.spark.failures import spark_failures


def refuse_unfit(columns: T.StructType, schema: Schema) -> None:
    """Fail as the first record would if rows of these columns cannot be written by the schema."""
    java: Any = SparkSession.active()._jvm  # noqa: SLF001 - PySpark makes the writer with the first row only
    with spark_failures("writing rows by the given schema"):
        avro = getattr(java.org.apache.avro, "Schema$Parser")().parse(schema.text)
        rows = java.org.apache.spark.sql.types.DataType.fromJson(columns.json())
        java.org.apache.spark.sql.avro.AvroSerializer(rows, avro, False)
