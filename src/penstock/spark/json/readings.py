"""Conversion of parsed JSON values to row values: dates, times and bytes from text, and defaults.

| type              | JSON                                                                              |
|-------------------|-----------------------------------------------------------------------------------|
| bytes             | text, each character one byte (U+0000 to U+00FF), as in Avro's own JSON encoding    |
| date              | ISO 8601 text, or the days since 1970                                             |
| timestamp         | ISO 8601 text (UTC unless it names a zone), or the number of its unit since 1970  |
| decimal           | a number, or text with one                                                        |

Decimals are read as variants, which do not expand `1e30000000`, and take digits that a double would lose from the
message (`rounded`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.schemas.avro.model import MISSING
from penstock.spark.json.rounded import decimal_of
from penstock.spark.json.shape import Entries, Items, Leaf, Member, Record, Shape, has_readings, is_decimal, read_type

DIGITS: Final = r"^-?\d+$"
WIDE: Final = r"[^\u0000-\u00ff]"
_MOST_MILLIS: Final = (2**63 - 1) // 1_000


def member_value(value: Column, member: Member) -> Column:
    """Return the value of a record's field, or the field's default if the value is missing or null."""
    if member.default is not MISSING:
        value = F.coalesce(present(value, member.shape), _default(member))
    return _value(value, member.shape) if has_readings(member.shape) else value


def present(value: Column, shape: Shape) -> Column:
    """Return the parsed value, with JSON null as null. In a variant, JSON null is a value."""
    return F.when(~F.is_variant_null(value), value) if is_decimal(shape) else value


def reading_of(value: Column, leaf: Leaf) -> Column:
    """Convert a text, or the variant of a decimal; null if the conversion fails."""
    if isinstance(leaf.type, T.DecimalType):
        return decimal_of(value, leaf.type)
    return _READINGS[leaf.reading](value)


def _value(value: Column, shape: Shape) -> Column:
    match shape:
        case Leaf(reading=reading):
            return reading_of(value, shape) if reading else value
        case Items(items=inner):
            return F.transform(value, lambda item: _value(item, inner))
        case Entries(values=inner):
            return F.transform_values(value, lambda _key, item: _value(item, inner))
        case Record(members=members):
            fields = [member_value(value.getField(member.name), member).alias(member.name) for member in members]
            return F.when(value.isNotNull(), F.struct(*fields))


def _default(member: Member) -> Column:
    """Return a default in the form of a parsed value, to be converted like any value."""
    wrapped = json.dumps({"value": member.default})
    ddl = f"value {read_type(member.shape).simpleString()}"
    return F.from_json(F.lit(wrapped), ddl).getField("value")


def _number(value: Column) -> Column:
    return F.when(value.rlike(DIGITS), value.try_cast("bigint"))


def _date(value: Column) -> Column:
    days = _number(value).try_cast("int")
    return F.coalesce(F.date_from_unix_date(days), F.when(~value.rlike(DIGITS), value.try_cast("date")))


def _moment(value: Column, from_number: Callable[[Column], Column], kind: str) -> Column:
    return F.coalesce(from_number(_number(value)), F.when(~value.rlike(DIGITS), value.try_cast(kind)))


def _from_millis(number: Column) -> Column:
    return F.timestamp_millis(F.when(number.between(-_MOST_MILLIS, _MOST_MILLIS), number))


def _local(from_number: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda number: from_number(number).cast("timestamp_ntz")


_READINGS: Mapping[str, Callable[[Column], Column]] = {
    "bytes": lambda value: F.when(~value.rlike(WIDE), F.encode(value, "ISO-8859-1")),
    "date": _date,
    "timestamp-millis": lambda value: _moment(value, _from_millis, "timestamp"),
    "timestamp-micros": lambda value: _moment(value, F.timestamp_micros, "timestamp"),
    "local-timestamp-millis": lambda value: _moment(value, _local(_from_millis), "timestamp_ntz"),
    "local-timestamp-micros": lambda value: _moment(value, _local(F.timestamp_micros), "timestamp_ntz"),
}
