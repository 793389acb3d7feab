"""Avro's logical types: their Python values, and checks of values."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

_MAX_PRECISION = 4_000
"""Limit of a decimal's digits. Larger decimals are read as bytes: Python does not print integers of more than 4,300
digits."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY = dt.timedelta(days=1)
_LAST = dt.datetime.max.replace(tzinfo=dt.UTC)
_FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)


@dataclass(frozen=True)
class Logical:
    """Logical type. Precision and scale are set for decimals."""

    name: str
    precision: int = 0
    scale: int = 0


def logical_of(base: str, node: Mapping[str, object], size: int = 0) -> Logical | None:
    """Return the logical type of a schema node. Ignore unknown or invalid types, as Avro's specification requires."""
    name = node.get("logicalType")
    if not isinstance(name, str) or (base, name) not in _BASES:
        return None
    if name != "decimal":
        return Logical(name)
    logical = Logical(name, _number(node.get("precision")), _number(node.get("scale", 0)))
    most = logical.precision if base == "bytes" else _digits(size)
    is_valid = 0 <= logical.scale <= logical.precision <= min(most, _MAX_PRECISION)
    return logical if is_valid and logical.precision else None


def logical_misfit(value: Any, logical: Logical) -> str | None:  # noqa: ANN401 - accepts any value
    """Return the reason why a value is invalid, as the rest of a sentence that begins with the value."""
    if logical.name == "decimal":
        return _decimal_misfit(value, logical)
    if isinstance(value, int) and not isinstance(value, bool) and logical.name in _NUMBERS:
        return None if value in _NUMBERS[logical.name] else f"is out of range for a {logical.name}"
    return _MISFITS[logical.name](value)


def _timestamp_misfit(value: object) -> str | None:
    if not isinstance(value, dt.datetime):
        return "is not a datetime, nor a number of its unit since 1970"
    return None if value.tzinfo else "has no time zone, so it is no point in time; use one, such as UTC"


def _local_timestamp_misfit(value: object) -> str | None:
    if not isinstance(value, dt.datetime):
        return "is not a datetime, nor a number of its unit since 1970"
    return "has a time zone, which a local timestamp cannot keep" if value.tzinfo else None


def _date_misfit(value: object) -> str | None:
    if isinstance(value, dt.datetime):
        return "is a datetime, not a date; use its date()"
    return None if isinstance(value, dt.date) else "is not a date, nor a number of days since 1970"


def _time_misfit(value: object) -> str | None:
    if not isinstance(value, dt.time):
        return "is not a time, nor a number of its unit since midnight"
    return "has a time zone, which a time of day cannot keep" if value.tzinfo else None


def _uuid_misfit(value: object) -> str | None:
    if isinstance(value, str):
        try:
            UUID(value)
        except ValueError:
            return "is not a UUID"
        return None
    return None if isinstance(value, UUID) else "is not a UUID"


def _decimal_misfit(value: object, logical: Logical) -> str | None:
    if not isinstance(value, Decimal):
        return "is not a Decimal"
    if not value.is_finite():
        return "is not a finite number"
    # `adjusted` is the exponent of the first digit. Reject an exponent of millions before computing with it.
    if value.adjusted() + logical.scale >= logical.precision:
        return f"has more than {logical.precision} digits"
    exponent = value.as_tuple().exponent
    fits = isinstance(exponent, int) and exponent + logical.scale >= 0
    return None if fits else f"has more than {logical.scale} digits after the point"


_MISFITS: dict[str, Callable[[object], str | None]] = {
    "timestamp-millis": _timestamp_misfit,
    "timestamp-micros": _timestamp_misfit,
    "local-timestamp-millis": _local_timestamp_misfit,
    "local-timestamp-micros": _local_timestamp_misfit,
    "date": _date_misfit,
    "time-millis": _time_misfit,
    "time-micros": _time_misfit,
    "uuid": _uuid_misfit,
}


def _span(unit: dt.timedelta) -> range:
    return range((_FIRST - _EPOCH) // unit, (_LAST - _EPOCH) // unit + 1)


_MILLI = dt.timedelta(milliseconds=1)
_MICRO = dt.timedelta(microseconds=1)
_NUMBERS = {
    "timestamp-millis": _span(_MILLI),
    "timestamp-micros": _span(_MICRO),
    "local-timestamp-millis": _span(_MILLI),
    "local-timestamp-micros": _span(_MICRO),
    "date": _span(_DAY),
    "time-millis": range(_DAY // _MILLI),
    "time-micros": range(_DAY // _MICRO),
}

_BASES = {
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "time-micros"),
    ("bytes", "decimal"),
    ("fixed", "decimal"),
    ("string", "uuid"),
}


def _number(node: object) -> int:
    return node if isinstance(node, int) and not isinstance(node, bool) else -1


def _digits(size: int) -> int:
    return math.floor(math.log10(2) * (8 * size - 1)) if size else 0
