"""What stands in the headers of a record that was refused, beside its own."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.events.record import Headers

ERROR_CODE = "penstock.error.code"
ERROR_MESSAGE = "penstock.error.message"
PIPELINE = "penstock.pipeline"
FAILED_AT = "penstock.failed_at"
ORIGIN = "penstock.origin"

_OURS = frozenset({ERROR_CODE, ERROR_MESSAGE, PIPELINE, FAILED_AT, ORIGIN})
_MAX_HEADER = 1000


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
    kept = [(name, value) for name, value in theirs if name not in _OURS]
    return [*kept, *((name, value.encode("utf-8", "replace")[:_MAX_HEADER]) for name, value in told.items())]


def told_time(moment: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
