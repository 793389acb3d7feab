"""Checks of primitives, enums and fixed values. Messages continue a sentence that begins with the value."""

from __future__ import annotations

import ctypes
import math
import numbers
from collections.abc import Callable
from typing import Any

from penstock.schemas.avro.logical import logical_misfit
from penstock.schemas.avro.model import FLOAT_MAX, INT_RANGE, LONG_RANGE, EnumType, FixedType, Primitive

Value = Any
Scalar = Primitive | FixedType | EnumType


def scalar_misfit(value: Value, avro_type: Scalar) -> str | None:
    """Return the reason why the value is invalid, or None."""
    match avro_type:
        case EnumType(symbols=symbols):
            fits = isinstance(value, str) and value in symbols
            return None if fits else "is not one of its symbols"
        case Primitive(logical=logical) | FixedType(logical=logical) if logical:
            return logical_misfit(value, logical)
        case FixedType(size=size):
            if not isinstance(value, bytes):
                return "is not bytes"
            return None if len(value) == size else f"has {len(value)} bytes, not {size}"
        case Primitive(name=name):
            return _PRIMITIVES[name](value)


def string_misfit(value: Value) -> str | None:
    """Return the reason why the value is invalid for a string, or None."""
    if not isinstance(value, str):
        return "is not a string"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "has half of a surrogate pair, which UTF-8 cannot hold"
    return None


def _int(value: Value) -> str | None:
    return _integer(value, "an int", INT_RANGE)


def _long(value: Value) -> str | None:
    return _integer(value, "a long", LONG_RANGE)


def _integer(value: Value, name: str, allowed: range) -> str | None:
    if isinstance(value, bool):
        return f"is a boolean, not {name}"
    if not isinstance(value, numbers.Integral):
        return f"is not {name}"
    return None if int(value) in allowed else f"does not fit {name} ({allowed[0]} to {allowed[-1]})"


def _float(value: Value) -> str | None:
    wrong = _double(value)
    if wrong:
        return wrong.replace("a double", "a float")
    if math.isfinite(value) and abs(value) > FLOAT_MAX:
        return "is too large for a float of 32 bits"
    rounded = not isinstance(value, float) and ctypes.c_float(value).value != value
    return "cannot be held exactly by a float of 32 bits" if rounded else None


def _double(value: Value) -> str | None:
    if isinstance(value, bool):
        return "is a boolean, not a double"
    if not isinstance(value, numbers.Real):
        return "is not a double"
    try:
        exact = math.isnan(value) or float(value) == value
    except OverflowError:
        exact = False
    return None if exact else "cannot be held exactly by a double"


_PRIMITIVES: dict[str, Callable[[Value], str | None]] = {
    "null": lambda value: None if value is None else "is not null",
    "boolean": lambda value: None if isinstance(value, bool) else "is not a boolean",
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": lambda value: None if isinstance(value, bytes | bytearray) else "is not bytes",
    "string": string_misfit,
}
