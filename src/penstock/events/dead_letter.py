"""What stands in the headers of a record that was refused, beside its own.

A record that Spark wrote has a `penstock.origin` of its own, which is kept; the refusal's comes after it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.events.record import Headers

ERROR_CODE = "penstock.error.code"
ERROR_MESSAGE = "penstock.error.message"
PIPELINE = "penstock.pipeline"
FAILED_AT = "penstock.failed_at"
ORIGIN = "penstock.origin"

OF_A_REFUSAL = frozenset({ERROR_CODE, ERROR_MESSAGE, PIPELINE, FAILED_AT})
"""What only a refusal leaves; that of an earlier one gives way to the next."""

MAX_HEADER = 1000


def dead_letter_headers(
    theirs: Headers, *, code: str, message: str, pipeline: str, failed_at: datetime, origin: str
) -> list[tuple[str, str | bytes | None]]:
    """A record's own headers, and ours in place of those that an earlier refusal left."""
    told = {
        ERROR_CODE: code,
        ERROR_MESSAGE: message,
        PIPELINE: pipeline,
        FAILED_AT: told_time(failed_at),
        ORIGIN: origin,
    }
    kept = [(name, value) for name, value in theirs if name not in OF_A_REFUSAL]
    return [*kept, *((name, header_text(value)) for name, value in told.items())]


def header_text(text: str) -> bytes:
    """Text as a header holds it: UTF-8, and not much of it, cut between two characters."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= MAX_HEADER else data[:MAX_HEADER].decode("utf-8", "ignore").encode()


def told_time(moment: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
