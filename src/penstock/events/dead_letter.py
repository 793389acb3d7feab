"""Headers of a rejected record, in addition to the record's own.

A record written by Spark has its own `penstock.origin` header. This header is kept; the rejection's header follows.
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
"""Headers written only by a rejection. A new rejection replaces the headers of an earlier one."""

MAX_HEADER = 1000


def dead_letter_headers(
    theirs: Headers, *, code: str, message: str, pipeline: str, failed_at: datetime, origin: str
) -> list[tuple[str, str | bytes | None]]:
    """Return a record's own headers and the rejection's. Headers of an earlier rejection are replaced."""
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
    """Encode text for a header: UTF-8, truncated to 1000 bytes between two characters."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= MAX_HEADER else data[:MAX_HEADER].decode("utf-8", "ignore").encode()


def told_time(moment: datetime) -> str:
    """Format a timestamp as ISO 8601 in UTC, with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
