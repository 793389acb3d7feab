"""Check whether rows match an Avro schema: columns with Spark's writer, values with an expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import TransformFailed
from penstock.schemas import Schema
from penstock.schemas.avro.model import EnumType, FixedType, RecordType, Type, UnionType, type_name
from penstock.spark.decoding import problem, quoted
from penstock.spark.failures import spark_failures


def refuse_unfit(columns: T.StructType, schema: Schema) -> None:
    """Raise, as the first write would, if rows of these columns cannot be written with the schema."""
    java: Any = SparkSession.active()._jvm  # noqa: SLF001 - PySpark makes the writer with the first row only
    with spark_failures("writing rows by the given schema"):
        avro = getattr(java.org.apache.avro, "Schema$Parser")().parse(schema.text)
        rows = java.org.apache.spark.sql.types.DataType.fromJson(columns.json())
        java.org.apache.spark.sql.avro.AvroSerializer(rows, avro, False)


def misfit(columns: T.StructType, schema: Schema) -> Column | None:
    """Return the problem of rows with values forbidden by the schema, null for other rows; None if all are allowed."""
    fields = schema.type.fields if isinstance(schema.type, RecordType) else []
    known = [field for field in fields if field.name in columns.names]
    reasons = [reason for field in known for reason in _reasons(field.name, columns[field.name].dataType, field.type)]
    if not reasons:
        return None
    said = F.coalesce(*reasons, F.lit(None).cast("string"))
    return F.when(said.isNotNull(), problem(TransformFailed.code, said))


def _reasons(name: str, data_type: T.DataType, avro_type: Type) -> Iterator[Column]:
    """Yield the reasons why a column's value is invalid, as text; null for a valid value."""
    value = F.col(quoted(name))
    branches = avro_type.branches if isinstance(avro_type, UnionType) else (avro_type,)
    if all(type_name(branch) != "null" for branch in branches):
        yield F.when(value.isNull(), F.lit(f"column {name} is null, and its schema forbids that"))
    match [branch for branch in branches if type_name(branch) != "null"], data_type:
        case [EnumType(symbols=symbols)], T.StringType():
            yield F.when(~value.isin(*symbols), F.lit(f"column {name} has a value that is not in its enum"))
        case [FixedType(size=size)], T.BinaryType():
            yield F.when(
                F.octet_length(value) != size, F.lit(f"column {name} does not have the {size} bytes of its type")
            )
