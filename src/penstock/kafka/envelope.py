"""What stands around a record's value, as people give it: a timestamp and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from penstock.errors import RecordInvalid
from penstock.kafka.outbox import Extras, HeaderPairs

Headers = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]
Timestamp = int | datetime


def extras(timestamp: Timestamp | None, headers: Headers | None) -> Extras:
    """Both as librdkafka takes them; what is not given is left out."""
    found: Extras = {}
    if timestamp is not None:
        found["timestamp"] = _milliseconds(timestamp)
    if headers is not None:
        found["headers"] = _pairs(headers)
    return found


def _milliseconds(timestamp: object) -> int:
    """Since 1970; a datetime without a zone is in local time, as Python has it."""
    number = int(timestamp.timestamp() * 1000) if isinstance(timestamp, datetime) else timestamp
    if not isinstance(number, int) or number <= 0:
        raise RecordInvalid(f"timestamp: {timestamp!r} is not a datetime, nor milliseconds since 1970")
    return number


def _pairs(headers: Headers) -> HeaderPairs:
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    for name, value in pairs:
        _check_header(name, value)
    return pairs


def _check_header(name: object, value: object) -> None:
    if not isinstance(name, str) or not isinstance(value, str | bytes | None):
        raise RecordInvalid(f"header {name!r}: {value!r} is not text, bytes or None")
