"""Dates and timestamps beyond the range of Python's calendar, as supported by databases.

The calendar repeats every 400 years. Python computes within a cycle; this module counts the cycles.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_EPOCH: Final = date(1970, 1, 1).toordinal()
_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND
_MOMENT = re.compile(
    r"(?P<year>\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?"
    r"(?P<zone>[+-]\d\d(?::\d\d){0,2})?(?P<era> BC)?"
)


def day_text(days: int) -> str:
    """Format a day, counted from 1970, like the database: `2024-02-29`, `0044-03-15 BC`."""
    day, era = _day_and_era(days)
    return day + era


def moment_text(micros: int) -> str:
    """Format a timestamp, in microseconds from 1970: `2024-02-29T12:00:00.000000`, with the suffix ` BC` if needed."""
    days, rest = divmod(micros, _DAY)
    day, era = _day_and_era(days)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    return f"{day}T{minutes // 60:02}:{minutes % 60:02}:{second:02}.{fraction:06}{era}"


def moment_of(text: str) -> int | None:
    """Parse a database timestamp into microseconds from 1970. Return None for special values, such as infinity."""
    found = _MOMENT.fullmatch(text)
    if not found:
        return None
    year = 1 - int(found["year"]) if found["era"] else int(found["year"])
    days = _days(year, int(found["month"]), int(found["day"]))
    seconds = int(found["hour"]) * 3600 + int(found["minute"]) * 60 + int(found["second"])
    fraction = int((found["fraction"] or "").ljust(6, "0"))
    return days * _DAY + (seconds - _zone_seconds(found["zone"] or "+00")) * _SECOND + fraction


def _day_and_era(days: int) -> tuple[str, str]:
    cycle, within = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    day = date.fromordinal(within + 1)
    year = day.year + cycle * _CYCLE_YEARS
    shown, era = (year, "") if year > 0 else (1 - year, " BC")
    return f"{shown:04}-{day.month:02}-{day.day:02}", era


def _days(year: int, month: int, day: int) -> int:
    cycle, within = divmod(year - 1, _CYCLE_YEARS)
    return date(within + 1, month, day).toordinal() + cycle * _CYCLE_DAYS - _EPOCH


def _zone_seconds(zone: str) -> int:
    hours, minutes, seconds = [int(part) for part in f"{zone[1:]}:00:00".split(":")][:3]
    size = hours * 3600 + minutes * 60 + seconds
    return -size if zone[0] == "-" else size
