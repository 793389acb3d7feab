"""Rows on their way into staging, and what is looked at before PostgreSQL sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.catalog.errors import RowRefused
from penstock.events.record import Origin

MAX_VALUE_BYTES = 8 * 1024 * 1024
"""A value larger than this is a mistake: a schema of 5,000 fields has one megabyte."""

Values = Mapping[str, object]
"""A row's columns and their values, JSON as text; a column that is left out is null."""


class StagedRow(NamedTuple):
    """A row for a staging table, and the message it comes from."""

    origin: Origin
    values: Values


class Refusal(NamedTuple):
    """A row that could not be taken, and why."""

    row: StagedRow
    error: RowRefused


def problem_in(row: StagedRow) -> RowRefused | None:
    """What PostgreSQL would not take: NUL characters, text that is no Unicode, values beyond the limit."""
    for column, value in row.values.items():
        reason = _reason(value) if isinstance(value, str) else None
        if reason:
            return refused(row, f"{column} {reason}")
    return None


def refused(row: StagedRow, reason: str, hint: str = "") -> RowRefused:
    """The error for a row, naming the message that it comes from."""
    return RowRefused(f"{row.origin}: {reason}", hint=hint, origin=row.origin)


def _reason(text: str) -> str | None:
    if "\x00" in text:
        return "has a NUL character, which PostgreSQL does not take"
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        return "is no valid Unicode"
    return f"has {size:,} bytes, {MAX_VALUE_BYTES:,} are allowed" if size > MAX_VALUE_BYTES else None


def as_tuple(row: StagedRow, columns: Sequence[str]) -> tuple[object, ...]:
    """The row's values in the order of these columns, the last three of which are its origin."""
    return (*(row.values.get(column) for column in columns), *row.origin)
