"""Rows for staging, and checks before PostgreSQL receives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.catalog.errors import RowRefused
from penstock.events.record import Origin

MAX_VALUE_BYTES = 8 * 1024 * 1024
"""Limit of a value. Larger values are mistakes: a schema of 5,000 fields has one megabyte."""

Values = Mapping[str, object]
"""A row's values by column, with JSON as text. Missing columns are null."""


class StagedRow(NamedTuple):
    """Row for a staging table, with the origin of its message."""

    origin: Origin
    values: Values


class Refusal(NamedTuple):
    """Rejected row with the reason."""

    row: StagedRow
    error: RowRefused


def problem_in(row: StagedRow) -> RowRefused | None:
    """Return why PostgreSQL would reject the row: NUL characters, invalid Unicode, values beyond the limit."""
    for column, value in row.values.items():
        reason = _reason(value) if isinstance(value, str) else None
        if reason:
            return refused(row, f"{column} {reason}")
    return None


def refused(row: StagedRow, reason: str, hint: str = "") -> RowRefused:
    """Return the error for a row, naming the source message."""
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
    """Return the row's values in the order of `columns`, followed by the origin."""
    return (*(row.values.get(column) for column in columns), *row.origin)
