"""Conversion of records to JSON, in the forms accepted by `from_json`."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from uuid import UUID

from penstock.schemas.avro.defaults import default_value
from penstock.schemas.avro.model import Field


def to_json(value: object) -> object:
    """Convert values without a JSON form to text: bytes, decimals, dates, and the floats NaN and Infinity."""
    if isinstance(value, dict):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return _leaf(value)


def json_default(field: Field) -> object:
    """Return a field's default in the form of `from_json`. Schemas write decimals as bytes, and dates as numbers."""
    value = default_value(field)
    return value if isinstance(value, Decimal) else to_json(value)


def _leaf(value: object) -> object:
    match value:
        case bytes():
            return value.decode("latin-1")
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dt.date() | dt.time():
            return value.isoformat()
        case Decimal() | UUID() | dt.timedelta():
            return str(value)
        case _:
            return value
