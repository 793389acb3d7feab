"""Parse and format human-readable sizes, durations, rates and times.

`kB`, `MB`, `GB` and `TB` are powers of 1000, `KiB`, `MiB`, `GiB` and `TiB` powers of 1024.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from penstock.errors import UsageError

UNLIMITED = -1

_SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BINARY_SIZES = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_DURATIONS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SHOWN_SIZES = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_FOREVER = ("forever", "unlimited", "-1")
_NUMBER_AND_UNIT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[a-zA-Z]*)")


def parse_size(text: str) -> int:
    """Return the bytes of `10GB`, `512KiB` or a bare number."""
    units = {"": 1, **_SIZES, **_BINARY_SIZES}
    return _parse(text, units, "a size", "write a number and B, kB, MB, GB or TB (KiB, MiB, … for 1024): 10GB")


def parse_duration_ms(text: str) -> int:
    """Return the milliseconds of `7d`, `36h` or `500ms`."""
    return _parse(text, _DURATIONS_MS, "a duration", "write a number and ms, s, m, h, d or w: 7d")


def parse_limit_ms(text: str) -> int:
    """Return the milliseconds of a duration, or Kafka's -1 for `forever`."""
    return UNLIMITED if text.strip().lower() in _FOREVER else parse_duration_ms(text)


def parse_limit_bytes(text: str) -> int:
    """Return the bytes of a size, or Kafka's -1 for `unlimited`."""
    return UNLIMITED if text.strip().lower() in _FOREVER else parse_size(text)


def parse_rate(text: str) -> int:
    """Return the bytes per second of `50MB/s`."""
    size, slash, second = text.partition("/")
    if not slash or second.strip().lower() not in {"s", "sec"}:
        raise UsageError(f"{text!r} is not a rate", hint="write a size per second: 50MB/s")
    return parse_size(size)


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Return the time of an ISO 8601 text (local time by default) or of an age such as `2h ago`."""
    age, ago, _ = text.strip().partition(" ago")
    if ago:
        return (now or datetime.now(UTC)) - timedelta(milliseconds=parse_duration_ms(age))
    try:
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write 2026-01-31T12:00 (local), 2026-01-31T12:00Z, or an age: '2h ago'"
        raise UsageError(f"{text!r} is not a time", hint=hint) from None


def show_size(size: float) -> str:
    """Format a number of bytes: `1.5 MB`."""
    unit, factor = next(((unit, factor) for unit, factor in _SHOWN_SIZES if size >= factor), ("B", 1))
    return f"{size / factor:,.1f}".removesuffix(".0") + f" {unit}"


def show_rate(rate: float) -> str:
    """Format bytes per second: `38.2 MB/s`."""
    return f"{show_size(rate)}/s"


def show_duration(milliseconds: float) -> str:
    """Format a duration in the largest unit that leaves a whole number: `7d`, `36h`, `1500ms`."""
    units = reversed(_DURATIONS_MS.items())
    whole = ((unit, factor) for unit, factor in units if unit != "w" and milliseconds % factor == 0)
    unit, factor = next(whole, ("ms", 1))
    return f"{milliseconds / factor:,.0f}{unit}" if milliseconds else "0ms"


def _parse(text: str, units: dict[str, int], kind: str, hint: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text.strip())
    factor = units.get(match["unit"].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"{text!r} is not {kind}", hint=hint)
    return round(float(match["number"]) * factor)
