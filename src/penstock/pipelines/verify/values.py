"""One form for values of the database and of the lake, in which those that mean the same are the same.

The database gives text, the lake Python's values. Types that have no such form are not compared, and are told.
"""

from __future__ import annotations

import ipaddress
import json
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.connect.snapshot import SourceColumn
from penstock.pipelines.verify.calendar import moment_of, moment_text

Canonical = str | None

_SPAN = re.compile(r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?")


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
    micros = moment_of(str(value))
    return str(value) if micros is None else moment_text(micros)


def _span(value: object) -> str:
    """Months, days and seconds, which alone tell intervals apart: a month has no certain length, nor has a day."""
    found = _SPAN.fullmatch(str(value))
    if not found:
        return str(value)
    years, months, days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    return f"P{years * 12 + months}M{days}DT{_number((hours * 60 + minutes) * 60 + seconds)}S"


def _network(value: object) -> str:
    """An address with the length of its network, which may be left out where it is the whole address."""
    return ipaddress.ip_interface(str(value)).with_prefixlen


def _pairs(value: object) -> str:
    return json.dumps(json.loads(str(value)), sort_keys=True)


def _bits(value: object) -> str:
    """The digits from the first 1 on; the lake has bytes, the last ones first, or a truth for a single bit."""
    if isinstance(value, bytes):
        number = int.from_bytes(value, "little")
    else:
        number = int(value) if isinstance(value, bool) else int(str(value), 2)
    return f"{number:b}"


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
    "money": _number,
    "interval": _span,
    "hstore": _pairs,
    "bit": _bits,
    **dict.fromkeys(("inet", "cidr"), _network),
    **dict.fromkeys(("timestamp", "timestamptz"), _moment),
    "bpchar": _padded,
    **dict.fromkeys(("text", "varchar", "name", "citext", "uuid", "json", "jsonb", "time", "date"), str),
    **dict.fromkeys(("xml", "macaddr"), str),
}
_NOT_IN_ARRAYS = frozenset({"bytea", "time", "money", "interval", "hstore", "bit", "xml"})
_ONLY_TEXT = frozenset({"interval", "hstore"})


def is_comparable(column: SourceColumn) -> bool:
    """Whether values of a column have a form in which they can be compared."""
    if column.is_array and column.type in _NOT_IN_ARRAYS:
        return False
    return column.is_enum or column.type in _FORMS


def is_stored_as_usual(column: SourceColumn, kind: pa.DataType) -> bool:
    """Whether the lake has values of a column in the form that is known; settings of a connector may choose another."""
    return column.type not in _ONLY_TEXT or bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def from_database(column: SourceColumn, text: str | None) -> Canonical:
    """A value as the database shows it."""
    if text is None:
        return None
    return _formed(column, json.loads(text, parse_float=Decimal) if column.is_array else text)


def from_lake(column: SourceColumn, value: object, outside: str | None) -> Canonical:
    """A value as the lake has it; `outside` is what it was where the lake's type has no room for it."""
    if value is None:
        return outside
    try:
        return _formed(column, value)
    except (ValueError, TypeError, ArithmeticError):
        # No value of the column's type: it is from a time when the column had another, or it is wrong.
        return str(value)


def _formed(column: SourceColumn, value: object) -> str:
    form = _FORMS.get(column.type, str)
    return _items(value, form) if column.is_array else form(value)


def _items(values: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - lists in lists, of anything
    return json.dumps([None if item is None else _item(item, form) for item in values])


def _item(item: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - as above
    return _items(item, form) if isinstance(item, list) else form(item)
