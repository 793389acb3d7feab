"""HTTP answers: a status per event, and a status code for the whole request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec

from penstock.collector.refusals import Refusal
from penstock.errors import PenstockError

RETRY_SECONDS = "2"

EventStatus = Literal["accepted", "rejected", "failed", "unknown"]
"""accepted: in Kafka, on all in-sync replicas. rejected: not a valid event of the topic. failed: not in Kafka, can be
retried. unknown: not acknowledged in time; the event may or may not be in Kafka."""

Tally = dict[EventStatus, int]

_OK, _SOME, _TOO_LARGE, _INVALID, _UNAVAILABLE = 200, 207, 413, 422, 503
_WORTH_A_RETRY = {"failed", "unknown"}
_NO_HEADERS: Mapping[str, str] = {}
_encode = msgspec.json.Encoder().encode


class Problem(msgspec.Struct, omit_defaults=True, frozen=True):
    """Error code, message and hint, readable by programs and people."""

    code: str
    message: str
    hint: str = ""


class EventResult(msgspec.Struct, omit_defaults=True):
    """Status of one event."""

    status: EventStatus
    id: str
    duplicate: bool = False
    error: Problem | None = None


class BatchResult(msgspec.Struct):
    """Status of each event of a batch, in order."""

    accepted: int
    rejected: int
    failed: int
    unknown: int
    events: list[EventResult]


class Answer(msgspec.Struct, frozen=True):
    """HTTP answer in JSON."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def problem(error: PenstockError) -> Problem:
    """Return the error in the form sent to clients."""
    return Problem(error.code, error.message, error.hint)


def refusal(error: Refusal) -> Answer:
    """Return the answer to a request that was refused as a whole."""
    return Answer(error.status, _encode({"error": problem(error)}), error.headers)


def tally(results: Iterable[EventResult]) -> Tally:
    """Count the events by status."""
    counts: Tally = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    return counts


def answer(results: list[EventResult], counts: Tally, *, single: bool) -> Answer:
    """Return the answer to a request with a result for each event."""
    body = _encode(results[0]) if single else _encode(_batch(results, counts))
    if len(counts) == 1 and "accepted" in counts:
        return Answer(_OK, body, _NO_HEADERS)
    headers = {"retry-after": RETRY_SECONDS} if counts.keys() & _WORTH_A_RETRY else _NO_HEADERS
    return Answer(_http_status(results, counts), body, headers)


def _batch(results: list[EventResult], counts: Tally) -> BatchResult:
    accepted, rejected, failed, unknown = (counts.get(status, 0) for status in get_args(EventStatus))
    return BatchResult(accepted, rejected, failed, unknown, results)


def _http_status(results: list[EventResult], counts: Tally) -> int:
    if "accepted" in counts:
        return _SOME
    if counts.keys() & _WORTH_A_RETRY:
        return _UNAVAILABLE
    too_large = all(result.error and result.error.code == "record.too_large" for result in results)
    return _TOO_LARGE if too_large else _INVALID
