"""Rows as lines of COPY's text format, made by Spark: PostgreSQL gets them without Python looking at each value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import PROBLEM
from penstock.catalog.staging.copying import LINE
from penstock.catalog.staging.rows import MAX_VALUE_BYTES
from penstock.spark.decoding import KAFKA, quoted

_PLACE = ("topic", "partition", "offset")
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_SAFE = (T.NumericType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType)
"""What can be neither too large nor no text."""

_NULL = "\\N"
_NUL = "has a NUL character, which PostgreSQL does not take"


def copy_lines(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """For each row its place in Kafka, and either its line or the problem that keeps it from being one."""
    types = {name: rows.schema[name].dataType for name in columns}
    texts = [as_text(F.col(quoted(name)), kind).alias(f"value_{name}") for name, kind in types.items()]
    place = [F.col(f"{KAFKA}.{name}").alias(name) for name in _PLACE]
    values = {name: F.col(quoted(f"value_{name}")) for name in columns}
    found = [value_problem(name, values[name]) for name, kind in types.items() if not isinstance(kind, _SAFE)]
    checked = rows.select(*texts, PROBLEM, *place).withColumn(PROBLEM, F.coalesce(F.col(PROBLEM), *found))
    line = F.when(F.col(PROBLEM).isNull(), _line([*values.values(), *(F.col(name).cast("string") for name in _PLACE)]))
    return checked.select(*_PLACE, PROBLEM, line.alias(LINE))


def as_text(value: Column, kind: T.DataType) -> Column:
    """A value as PostgreSQL reads it: bytes in hexadecimal, lists and objects as JSON."""
    match kind:
        case T.BinaryType():
            return F.concat(F.lit("\\x"), F.hex(value))
        case T.ArrayType() | T.MapType() | T.StructType():
            return F.to_json(value)
        case _:
            return value.cast("string")


def value_problem(name: str, text: Column) -> Column:
    """What PostgreSQL would not take: NUL characters, bytes that are no text, values beyond the limit."""
    size = F.octet_length(text)
    too_large = F.concat(
        F.lit(f"{name} has "), F.format_number(size, 0), F.lit(f" bytes, {MAX_VALUE_BYTES:,} are allowed")
    )
    return (
        F.when(~F.is_valid_utf8(text), F.lit(f"{name} is no valid Unicode"))
        .when(F.contains(text, F.lit("\x00")), F.lit(f"{name} {_NUL}"))
        .when(size > F.lit(MAX_VALUE_BYTES), too_large)
    )


def _line(values: Sequence[Column]) -> Column:
    each = (F.coalesce(_escaped(value), F.lit(_NULL)) for value in values)
    return F.concat(F.concat_ws("\t", *each), F.lit("\n"))


def _escaped(text: Column) -> Column:
    return reduce(lambda done, pair: F.replace(done, F.lit(pair[0]), F.lit(pair[1])), _ESCAPES, text)
