"""Canonical text of database and lake values: values with equal meaning have equal text.

The database provides text, the lake provides Python values. Types without a canonical form are reported as not
compared.
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
    """Format all digits of a number, without trailing zeros."""
    number = Decimal(str(value))
    if not number.is_finite() or not number:
        return "0" if not number else str(number)
    digits = format(number, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _padded(value: object) -> str:
    """Strip insignificant trailing blanks from texts of fixed length."""
    return str(value).rstrip(" ")


def _moment(value: object) -> str:
    """Format a timestamp to the microsecond, in UTC if the value has a zone.

    Values outside any calendar stay unchanged.
    """
    micros = moment_of(str(value))
    return str(value) if micros is None else moment_text(micros)


def _span(value: object) -> str:
    """Format an interval as months, days and seconds. Months and days have no fixed length in smaller units."""
    found = _SPAN.fullmatch(str(value))
    if not found:
        return str(value)
    years, months, days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    return f"P{years * 12 + months}M{days}DT{_number((hours * 60 + minutes) * 60 + seconds)}S"


def _network(value: object) -> str:
    """Format an address with its prefix length. Input may omit the length of a full-length prefix."""
    return ipaddress.ip_interface(str(value)).with_prefixlen


def _pairs(value: object) -> str:
    return json.dumps(json.loads(str(value)), sort_keys=True)


def _bits(value: object) -> str:
    """Format bits without leading zeros. The lake stores little-endian bytes, or a boolean for a single bit."""
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
    """Whether values of a column have a canonical form."""
    if column.is_array and column.type in _NOT_IN_ARRAYS:
        return False
    return column.is_enum or column.type in _FORMS


def is_stored_as_usual(column: SourceColumn, kind: pa.DataType) -> bool:
    """Whether the lake stores a column in the expected form. Connector settings may choose a different form."""
    return column.type not in _ONLY_TEXT or bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def from_database(column: SourceColumn, text: str | None) -> Canonical:
    """Return the canonical form of a database value."""
    if text is None:
        return None
    return _formed(column, json.loads(text, parse_float=Decimal) if column.is_array else text)


def from_lake(column: SourceColumn, value: object, outside: str | None) -> Canonical:
    """Return the canonical form of a lake value. `outside` is the original text of an out-of-range value."""
    if value is None:
        return outside
    try:
        return _formed(column, value)
    except (ValueError, TypeError, ArithmeticError):
        # Not a value of the column's current type: written under a former type, or wrong.
        return str(value)


def _formed(column: SourceColumn, value: object) -> str:
    form = _FORMS.get(column.type, str)
    return _items(value, form) if column.is_array else form(value)


def _items(values: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - nested lists of any values
    return json.dumps([None if item is None else _item(item, form) for item in values])


def _item(item: Any, form: Callable[[Any], str]) -> str:  # noqa: ANN401 - as above
    return _items(item, form) if isinstance(item, list) else form(item)
