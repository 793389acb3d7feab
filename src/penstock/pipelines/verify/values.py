"""One form for values of the database and of the lake, in which those that mean the same are the same.

The database gives text, the lake Python's values. Types that have no such form are not compared, and are told.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from penstock.connect.snapshot import SourceColumn

Canonical = str | None
FromText = Callable[[str], str]
FromLake = Callable[[Any], str]


def _number(value: object) -> str:
    """Every digit, without zeros behind the last one that counts."""
    number = Decimal(str(value))
    if not number.is_finite() or not number:
        return "0" if not number else str(number)
    digits = format(number, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _padded(value: object) -> str:
    """Text of a fixed length, whose blanks at the end mean nothing."""
    return str(value).rstrip(" ")


def _moment(value: object) -> str:
    """A time in UTC if it has a zone, to the microsecond; what no calendar has stays as it is."""
    if isinstance(value, str):
        if value.lstrip("-") == "infinity":
            return value
        value = datetime.fromisoformat(value)
    assert isinstance(value, datetime)  # noqa: S101 - texts were turned into one above
    moved = value.astimezone(UTC) if value.tzinfo else value
    return moved.replace(tzinfo=None).isoformat(timespec="microseconds")


def _day(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _single(value: object) -> str:
    return struct.pack("!f", float(str(value))).hex()


def _double(value: object) -> str:
    return struct.pack("!d", float(str(value))).hex()


def _truth(value: object) -> str:
    return "true" if value in {True, "true", "t"} else "false"


def _binary(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


_FORMS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid", "numeric"), _number),
    "float4": _single,
    "float8": _double,
    "bool": _truth,
    "bytea": _binary,
    "date": _day,
    **dict.fromkeys(("timestamp", "timestamptz"), _moment),
    "bpchar": _padded,
    **dict.fromkeys(("text", "varchar", "name", "citext", "uuid", "json", "jsonb", "time"), str),
}


def is_comparable(column: SourceColumn) -> bool:
    """Whether values of a column have a form in which they can be compared."""
    if column.is_array and column.type in {"bytea", "time"}:
        return False
    return column.is_enum or column.type in _FORMS


def from_database(column: SourceColumn, text: str | None) -> Canonical:
    """A value as the database shows it."""
    if text is None:
        return None
    form = _FORMS.get(column.type, str)
    return _items(json.loads(text, parse_float=Decimal), form) if column.is_array else form(text)


def from_lake(column: SourceColumn, value: object, outside: str | None) -> Canonical:
    """A value as the lake has it; `outside` is what it was where the lake's type has no room for it."""
    if value is None:
        return outside
    form = _FORMS.get(column.type, str)
    return _items(value, form) if column.is_array else form(value)


def _items(values: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - lists in lists, of anything
    return json.dumps([None if item is None else _item(item, form) for item in values])


def _item(item: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - as above
    return _items(item, form) if isinstance(item, list) else form(item)
