"""Metadata sent with a record's value: key, partition, timestamp and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypedDict

from penstock.errors import RecordInvalid
from penstock.kafka.outbox import Extras, HeaderPairs

Headers = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]
Timestamp = int | datetime

_HEADER_TYPES = (str, bytes, type(None))


class Envelope(TypedDict, total=False):
    """Metadata of a value. The timestamp defaults to the time of sending, or the broker's."""

    key: object
    partition: int | None
    timestamp: Timestamp | None
    headers: Headers | None


def extras(timestamp: Timestamp | None, headers: Headers | None) -> Extras:
    """Return timestamp and headers in librdkafka's form; missing values are omitted."""
    found: Extras = {}
    if timestamp is not None:
        found["timestamp"] = _milliseconds(timestamp)
    if headers is not None:
        found["headers"] = _pairs(headers)
    return found


def _milliseconds(timestamp: object) -> int:
    """Return milliseconds since 1970. A datetime without a time zone is in local time, as in Python."""
    number = int(timestamp.timestamp() * 1000) if isinstance(timestamp, datetime) else timestamp
    if not isinstance(number, int) or number <= 0:
        raise RecordInvalid(f"timestamp: {timestamp!r} is not a datetime, nor milliseconds since 1970")
    return number


def _pairs(headers: Headers) -> HeaderPairs:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [_pair(name, value) for name, value in pairs]


def _pair(name: object, value: object) -> tuple[str, str | bytes | None]:
    """Encode a header as UTF-8. Raise RecordInvalid for other types and for unencodable text."""
    if isinstance(name, str) and isinstance(value, _HEADER_TYPES):
        try:
            return name.encode().decode(), value.encode() if isinstance(value, str) else value
        except UnicodeEncodeError:
            pass
    raise RecordInvalid(f"header {name!r}: {value!r} is not text, bytes or None")
