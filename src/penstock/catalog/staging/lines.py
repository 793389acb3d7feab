"""Rows as lines in COPY's text format, built by Spark, so that Python does not process each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce

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
"""Types whose values can be neither too large nor invalid text."""

_SPECIAL = r"[\x00\\\t\n\r]"
_WHOLE, _PLAIN, _FOUND = "whole", "is_plain", "found"
_NULL = "\\N"
_NUL = "has a NUL character, which PostgreSQL does not take"


def copy_lines(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the Kafka position of each row, with either its line or the problem that prevents the line.

    Nearly every row is plain, according to a single check of all texts. The rest is checked value by value.
    """
    schema = rows.schema
    made = _made(tuple((name, schema[name].dataType) for name in columns))
    looked_at = rows.select(*made.texts).select("*", made.whole).select("*", made.is_plain)
    return looked_at.select("*", made.problem).select(*_PLACE, F.col(_FOUND).alias(PROBLEM), made.line)


@dataclass(frozen=True)
class _Columns:
    """Expressions of the steps: values as text, all texts joined, the plain check, the problem, the line."""

    texts: Sequence[Column]
    whole: Column
    is_plain: Column
    problem: Column
    line: Column


@cache
def _made(types: Sequence[tuple[str, T.DataType]]) -> _Columns:
    """Return the expressions for rows of these types. Cached, because building them takes longer than a small batch."""
    texts = [as_text(F.col(quoted(name)), kind).alias(f"value_{name}") for name, kind in types]
    values = {name: F.col(quoted(f"value_{name}")) for name, _ in types}
    risky = {name: values[name] for name, kind in types if not isinstance(kind, _SAFE)}
    found = F.coalesce(F.col(PROBLEM), *(value_problem(name, value) for name, value in risky.items()))
    fields = [*values.values(), *(F.col(name).cast("string") for name in _PLACE)]
    line = F.when(F.col(_PLAIN), _line(fields)).otherwise(_line([_escaped(value) for value in fields]))
    return _Columns(
        [*texts, F.col(PROBLEM), *(F.col(f"{KAFKA}.{name}").alias(name) for name in _PLACE)],
        F.concat_ws("|", *risky.values()).alias(_WHOLE),
        _is_plain().alias(_PLAIN),
        F.when(F.col(_PLAIN), F.col(PROBLEM)).otherwise(found).alias(_FOUND),
        F.when(F.col(_FOUND).isNull(), line).alias(LINE),
    )


def _is_plain() -> Column:
    """Whether a row contains nothing that PostgreSQL rejects, and nothing to escape."""
    whole = F.col(_WHOLE)
    return F.is_valid_utf8(whole) & (F.octet_length(whole) <= F.lit(MAX_VALUE_BYTES)) & ~whole.rlike(_SPECIAL)


def as_text(value: Column, kind: T.DataType) -> Column:
    """Return a value in PostgreSQL's format: bytes in hexadecimal, lists and objects as JSON."""
    match kind:
        case T.BinaryType():
            return F.concat(F.lit("\\x"), F.hex(value))
        case T.ArrayType() | T.MapType() | T.StructType():
            return F.to_json(value)
        case _:
            return value.cast("string")


def value_problem(name: str, text: Column) -> Column:
    """Return the reason why PostgreSQL rejects a text: NUL characters, invalid Unicode, values beyond the limit."""
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
    return F.concat(F.concat_ws("\t", *(F.coalesce(value, F.lit(_NULL)) for value in values)), F.lit("\n"))


def _escaped(text: Column) -> Column:
    return reduce(lambda done, pair: F.replace(done, F.lit(pair[0]), F.lit(pair[1])), _ESCAPES, text)
