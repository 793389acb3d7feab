"""Conversion of JSON to records of a schema. JSON has no native dates, decimals, bytes or unions.

| Avro                  | JSON                                                                               |
|-----------------------|------------------------------------------------------------------------------------|
| bytes, fixed          | text, each character one byte (U+0000 to U+00FF), as in Avro's own JSON encoding   |
| decimal               | a number, or text that holds one: 12.50, "12.50"                                   |
| date, time, timestamp | ISO 8601 text ("2026-07-30T12:30:00Z"), or the underlying number                   |
| float, double         | a number, or "NaN", "Infinity", "-Infinity"                                        |
| union                 | the value itself, or {"branch": value} as in Avro's own JSON encoding              |

Values in any other form stay unchanged. The codec rejects them with the name of the field.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from penstock.errors import RecordInvalid
from penstock.schemas.avro.fits import MAX_DEPTH, Fits, count_values
from penstock.schemas.avro.model import (
    ArrayType,
    FixedType,
    MapType,
    Primitive,
    RecordType,
    Type,
    UnionType,
    type_name,
)

Json = Any

_FORMS = 3
"""Maximum number of values created from one: a date, for example, and a union's tuple."""

_exact = msgspec.json.Decoder(float_hook=Decimal)


def parse_json(text: bytes) -> object:
    """Parse JSON with exact decimal numbers. Raise RecordInvalid with the position of a syntax error."""
    try:
        value: object = _exact.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidOperation) as error:
        raise RecordInvalid(f"not JSON: {error}") from error
    except RecursionError as error:
        raise RecordInvalid("not JSON: nested too deeply") from error
    return value


def from_json(value: object, avro_type: Type) -> object:
    """Convert a JSON value to the form that the codec accepts."""
    return read_checked(value, avro_type)[0]


def read_checked(value: object, avro_type: Type) -> tuple[object, Fits]:
    """Convert like `from_json`, and return the results of checks for reuse in `find_misfit`."""
    size = count_values(value)
    if size is None:
        raise RecordInvalid("the record is nested too deeply", hint=f"nest at most {MAX_DEPTH} levels")
    reading = _Reading(Fits(size * _FORMS))
    try:
        return reading.read(value, avro_type), reading.checked
    except RecursionError as error:
        raise RecordInvalid("the record is nested too deeply") from error


class _Reading:
    """Reads each pair of value and type once. Values that fit no branch of a union are tried with every branch."""

    def __init__(self, checked: Fits) -> None:
        self.checked = checked
        self._known: dict[tuple[int, Type], object] = {}

    def read(self, value: Json, avro_type: Type) -> object:
        self.checked.step()
        if isinstance(avro_type, Primitive | FixedType):
            return _read_leaf(value, avro_type)
        if not isinstance(value, dict | list):
            return self._read_union(value, avro_type) if isinstance(avro_type, UnionType) else _plain(value)
        pair = (id(value), avro_type)
        if pair not in self._known:
            self._known[pair] = self._read(value, avro_type)
        return self._known[pair]

    def _read(self, value: Json, avro_type: Type) -> object:
        match avro_type:
            case RecordType(types=types) if isinstance(value, dict):
                read = [self.read(item, types[name]) if name in types else item for name, item in value.items()]
                return _entries(value, read)
            case ArrayType(items=items) if isinstance(value, list):
                read = [self.read(item, items) for item in value]
                return value if _are_same(value, read) else read
            case MapType(values=values) if isinstance(value, dict):
                return _entries(value, [self.read(item, values) for item in value.values()])
            case UnionType():
                return self._read_union(value, avro_type)
            case _:
                return value

    def _read_union(self, value: Json, union: UnionType) -> object:
        """Keep text if a branch accepts text. Otherwise try dates, bytes and named branches."""
        plain = _plain(value)
        if self.checked.fits(plain, union):
            return plain
        for branch in union.branches:
            if isinstance(branch, RecordType) and not self.checked.may_be(value, branch):
                continue
            attempt = self.read(value, branch)
            if attempt is not plain and self.checked.fits(attempt, union):
                return attempt
        for branch in union.branches if isinstance(value, dict) and len(value) == 1 else ():
            name = type_name(branch)
            if name in value:
                inner = self.read(value[name], branch)
                if self.checked.fits(inner, branch):
                    return name, inner
        return plain


def _entries(value: dict[str, Json], read: list[object]) -> dict[str, object]:
    """Return a dict with its values as read. It is the dict itself if none changed, and need not be checked again."""
    return value if _are_same(value.values(), read) else dict(zip(value, read, strict=True))


def _are_same(values: Iterable[object], read: list[object]) -> bool:
    return all(map(operator.is_, values, read))


def _read_leaf(value: Json, avro_type: Primitive | FixedType) -> object:
    base = "bytes" if isinstance(avro_type, FixedType) else avro_type.name
    convert = _CONVERT.get(avro_type.logical.name if avro_type.logical else base, _plain)
    try:
        return convert(value)
    except (ValueError, TypeError, InvalidOperation):
        return _plain(value)


def _plain(value: object) -> object:
    """Return a number as float. Numbers are parsed exactly, but only decimals need the exact value."""
    return float(value) if isinstance(value, Decimal) and math.isfinite(float(value)) else value


def _bytes(value: object) -> object:
    return value.encode("latin-1") if isinstance(value, str) else value


def _decimal(value: object) -> object:
    return Decimal(value) if isinstance(value, str | int) and not isinstance(value, bool) else value


def _float(value: object) -> object:
    return float(value) if isinstance(value, str) and value in _WORDS else _plain(value)


_WORDS = {"NaN", "Infinity", "-Infinity"}
_CONVERT: dict[str, Callable[[Any], object]] = {
    "bytes": _bytes,
    "decimal": _decimal,
    "float": _float,
    "double": _float,
    "date": dt.date.fromisoformat,
    "time-millis": dt.time.fromisoformat,
    "time-micros": dt.time.fromisoformat,
    "timestamp-millis": dt.datetime.fromisoformat,
    "timestamp-micros": dt.datetime.fromisoformat,
    "local-timestamp-millis": dt.datetime.fromisoformat,
    "local-timestamp-micros": dt.datetime.fromisoformat,
}
