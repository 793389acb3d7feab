"""Conversion of wire values to typed values of the lake: exact, or rejected."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above
from pyspark.sql.avro.functions import from_avro

from penstock.errors import SchemaError
from penstock.spark.debezium.wire import Wire
from penstock.spark.decimals import exact_decimal

PLACEHOLDER: Final = "__debezium_unavailable_value"
_MOST_DIGITS: Final = 38
_MOST_BYTES: Final = 16
_MONEY_DIGITS: Final = (19, 2)
_SCALES: Final = (-131_072, 16_383)
"""Valid scales of PostgreSQL's numbers. A scale may produce as many zeros of text."""
_LAST_MICROS: Final = 9_223_372_036_800_000_000
_FIRST_DAY: Final = -2_451_545
_DAY_MICROS: Final = 86_400_000_000
_MILLI, _MICRO, _NANO = 1_000, 1, -1_000
_CONNECT: Final = "org.apache.kafka.connect.data."
_TIME: Final = "io.debezium.time."
_DATA: Final = "io.debezium.data."
_PLAIN: Mapping[str, T.DataType] = {
    "int8": T.ByteType(),
    "int16": T.ShortType(),
    "int32": T.IntegerType(),
    "int64": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "boolean": T.BooleanType(),
    "string": T.StringType(),
    "bytes": T.BinaryType(),
}


@dataclass(frozen=True)
class Meaning:
    """Lake type of a wire type, the conversion, and the values that the lake type cannot hold.

    `outside` returns a text (`NaN`, `infinity`) for a value outside the type's range, and null for all other values.
    With `may_fail`, a value may be invalid for the type, and is converted to null.
    """

    type: T.DataType
    convert: Callable[[Column], Column]
    outside: Callable[[Column], Column] | None = None
    may_fail: bool = False


def struct_of(fields: Mapping[str, T.DataType]) -> T.StructType:
    """Return a struct of these fields."""
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


def read_type(wire: Wire) -> T.DataType:
    """Return the type in which Spark reads the value."""
    match wire.kind:
        case "struct":
            return T.StructType([T.StructField(name, read_type(each)) for name, each in wire.fields])
        case "array":
            return T.ArrayType(read_type(_items(wire)))
        case "map":
            return T.MapType(T.StringType(), read_type(_items(wire)))
        case kind if kind in _PLAIN:
            return _PLAIN[kind]
        case kind:
            raise SchemaError(f"{kind} is no type of Kafka Connect", hint="is the topic Debezium's?")


def meaning(wire: Wire) -> Meaning:
    """Return the lake type and conversion for a wire type."""
    for names, make in _BY_NAME:
        if wire.name in names:
            return make(wire)
    if wire.kind == "string" and wire.source_type in {"NUMERIC", "DECIMAL", "MONEY"}:
        return _number_text(wire)
    match wire.kind:
        case "array":
            return _array(wire)
        case "struct" | "map":
            return Meaning(read_type(wire), lambda value: value)
        case _:
            return Meaning(read_type(wire), lambda value: value.cast(read_type(wire)))


def _items(wire: Wire) -> Wire:
    return wire.items or Wire("string")


def _array(wire: Wire) -> Meaning:
    inner = meaning(_items(wire))
    outside = inner.outside
    return Meaning(
        T.ArrayType(inner.type),
        lambda value: F.transform(value, inner.convert),
        (lambda value: F.nullif(F.array_join(F.transform(value, outside), ","), F.lit(""))) if outside else None,
    )


def _number_text(wire: Wire) -> Meaning:
    """Convert a number sent as text: to a decimal if precision and scale are known and fit, otherwise keep the text."""
    digits = _MONEY_DIGITS if wire.source_type == "MONEY" else wire.digits
    if digits is None or not _fits(*digits):
        return Meaning(T.StringType(), lambda value: F.coalesce(_no_number(value), value))
    kind = T.DecimalType(*digits)
    return Meaning(kind, lambda value: exact_decimal(value, kind), _no_number, may_fail=True)


def _decimal(wire: Wire) -> Meaning:
    """Convert Connect's decimal: the unscaled number in bytes, with the scale in the schema."""
    digits = _MONEY_DIGITS if wire.source_type == "MONEY" else wire.digits
    scale = int(wire.parameters.get("scale", 0))
    if digits is None or not _fits(*digits):
        return Meaning(T.StringType(), lambda value: _scaled_text(value, F.lit(scale)), may_fail=True)
    kind = T.DecimalType(*digits)
    return Meaning(kind, lambda value: _unscaled(value, *digits), may_fail=True)


def _variable_decimal(_wire: Wire) -> Meaning:
    """Convert a number of any scale to text, which alone preserves the number exactly."""

    def text(value: Column) -> Column:
        scale = value.getField("scale")
        return F.when(scale.between(*_SCALES), _scaled_text(value.getField("value"), scale))

    return Meaning(T.StringType(), text, may_fail=True)


def _fits(precision: int, scale: int) -> bool:
    return 0 < precision <= _MOST_DIGITS and 0 <= scale <= precision


def _unscaled(value: Column, precision: int, scale: int) -> Column:
    """Decode a big-endian two's complement number as an Avro decimal: a length byte, then the bytes."""
    length = F.unhex(F.lpad(F.hex(F.octet_length(value) * 2), 2, "0"))
    avro = f'{{"type":"bytes","logicalType":"decimal","precision":{precision},"scale":{scale}}}'
    decoded = from_avro(F.concat(length, value), avro, {"mode": "PERMISSIVE"})
    return F.when(F.octet_length(value) <= _MOST_BYTES, decoded)


def _scaled_text(value: Column, scale: Column) -> Column:
    """Format a number of up to 38 digits as text, with the decimal point at the given scale."""
    number = _unscaled(value, _MOST_DIGITS, 0)
    sign = F.when(number < 0, "-").otherwise("")
    digits = F.lpad(
        F.abs(number).cast("string"), F.greatest(scale + 1, F.length(F.abs(number).cast("string"))), F.lit("0")
    )
    whole = F.substring(digits, F.lit(1), F.length(digits) - scale)
    with_point = F.concat(whole, F.lit("."), F.substring(digits, F.length(digits) - scale + 1, scale))
    zeros = F.when(number == 0, "").otherwise(F.repeat(F.lit("0"), -scale))
    return F.concat(sign, F.when(scale > 0, with_point).otherwise(F.concat(F.abs(number).cast("string"), zeros)))


def _no_number(value: Column) -> Column:
    """Return the text of a non-finite value in a column of numbers."""
    return (
        F.when(value.isin("NAN", "NaN"), "NaN")
        .when(value.isin("POSITIVE_INFINITY", "Infinity"), "Infinity")
        .when(value.isin("NEGATIVE_INFINITY", "-Infinity"), "-Infinity")
    )


def _date(_wire: Wire) -> Meaning:
    return Meaning(
        T.DateType(),
        lambda value: F.when(value >= _FIRST_DAY, F.date_from_unix_date(value)),
        lambda value: F.when(value < _FIRST_DAY, "infinity"),
    )


def _time(unit: int) -> Callable[[Wire], Meaning]:
    """Convert a time of day to text (`12:34:56.123456`), because tables have no such type."""

    def text(value: Column) -> Column:
        micros = _micros(value, unit)
        shown = F.date_format(F.timestamp_micros(micros), "HH:mm:ss.SSSSSS")
        return F.when(micros == _DAY_MICROS, "24:00:00.000000").otherwise(shown)

    return lambda _wire: Meaning(T.StringType(), text)


def _timestamp(unit: int) -> Callable[[Wire], Meaning]:
    """Convert a timestamp without time zone."""
    limit = _LAST_MICROS // unit if unit > 0 else _LAST_MICROS

    def outside(value: Column) -> Column:
        return F.when(value >= limit, "infinity").when(value <= -limit, "-infinity")

    def convert(value: Column) -> Column:
        moment = F.timestamp_micros(_micros(value, unit)).cast("timestamp_ntz")
        return F.when(F.abs(value) < limit, moment)

    return lambda _wire: Meaning(T.TimestampNTZType(), convert, outside)


def _micros(value: Column, unit: int) -> Column:
    number = value.cast("bigint")
    return number * unit if unit > 0 else F.floor(number / -unit)


def _zoned(_wire: Wire) -> Meaning:
    """Convert a timestamp written with its zone."""

    def outside(value: Column) -> Column:
        return F.when(value.isin("infinity", "-infinity"), value)

    def convert(value: Column) -> Column:
        return F.when(outside(value).isNull(), value.try_cast("timestamp"))

    return Meaning(T.TimestampType(), convert, outside, may_fail=True)


def _text_as(kind: T.DataType) -> Callable[[Wire], Meaning]:
    return lambda _wire: Meaning(kind, lambda value: value.try_cast(kind), may_fail=True)


_BY_NAME: tuple[tuple[frozenset[str], Callable[[Wire], Meaning]], ...] = (
    (frozenset({f"{_CONNECT}Decimal"}), _decimal),
    (frozenset({f"{_DATA}VariableScaleDecimal"}), _variable_decimal),
    (frozenset({f"{_TIME}Date", f"{_CONNECT}Date"}), _date),
    (frozenset({f"{_TIME}Time", f"{_CONNECT}Time"}), _time(_MILLI)),
    (frozenset({f"{_TIME}MicroTime"}), _time(_MICRO)),
    (frozenset({f"{_TIME}NanoTime"}), _time(_NANO)),
    (frozenset({f"{_TIME}Timestamp", f"{_CONNECT}Timestamp"}), _timestamp(_MILLI)),
    (frozenset({f"{_TIME}MicroTimestamp"}), _timestamp(_MICRO)),
    (frozenset({f"{_TIME}NanoTimestamp"}), _timestamp(_NANO)),
    (frozenset({f"{_TIME}ZonedTimestamp"}), _zoned),
    (frozenset({f"{_TIME}IsoDate"}), _text_as(T.DateType())),
    (frozenset({f"{_TIME}IsoTimestamp"}), _text_as(T.TimestampNTZType())),
)


def is_unavailable(value: Column, wire: Wire, placeholder: str = PLACEHOLDER) -> Column | None:
    """Whether a value is a placeholder for a value too large to be sent again; None if impossible for the type."""
    if wire.kind == "map":
        return F.map_contains_key(value, placeholder)
    stands_for = _placeholders(wire, placeholder.encode())
    return value.isin(*stands_for) if stands_for else None


def _placeholders(wire: Wire, raw: bytes) -> list[Column]:
    """Return the placeholders for unavailable values of this type. A column declared as text may be an hstore."""
    text, binary = F.lit(raw.decode()), F.lit(bytearray(raw))
    match wire.kind, _items(wire).kind:
        case "string", _:
            return [text, F.lit(_hstore_of(raw.decode()))]
        case "bytes", _:
            return [binary]
        case "array", "string":
            return [F.array(text), F.array(F.lit(_uuid_of(raw)))]
        case "array", "bytes":
            return [F.array(binary)]
        case "array", ("int16" | "int32" | "int64"):
            return [F.array(*map(F.lit, raw)).cast(read_type(wire))]
        case _:
            return []


def _hstore_of(text: str) -> str:
    """Return the JSON of an hstore with the text as the only key and value."""
    return json.dumps({text: text}, separators=(",", ":"), ensure_ascii=False)


def _uuid_of(raw: bytes) -> str:
    """Return the UUID that Java derives from the bytes."""
    return str(uuid.UUID(bytes=hashlib.md5(raw, usedforsecurity=False).digest(), version=3))
