import json

import pytest

from penstock.collector.answers import EventResult, EventStatus, Problem, answer, tally

TOO_LARGE = Problem("record.too_large", "it is")
WRONG = Problem("record.invalid", "it is")


def http_status(*statuses: EventStatus, error: Problem | None = None) -> int:
    results = [EventResult(status, str(place), error=error) for place, status in enumerate(statuses)]
    return answer(results, tally(results), single=False).status


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["accepted"], 200),
        (["accepted", "accepted"], 200),
        (["accepted", "rejected"], 207),
        (["unknown", "accepted"], 207),
        (["rejected", "rejected"], 422),
        (["failed"], 503),
        (["unknown", "rejected"], 503),
    ],
)
def test_the_status_says_all_some_or_none(statuses: list[EventStatus], status: int) -> None:
    assert http_status(*statuses) == status


def test_events_that_are_all_too_large_are_told_so() -> None:
    assert http_status("rejected", error=TOO_LARGE) == 413
    assert http_status("rejected", error=WRONG) == 422


@pytest.mark.parametrize(
    ("status", "retries"), [("accepted", False), ("rejected", False), ("failed", True), ("unknown", True)]
)
def test_what_is_worth_a_retry_says_when(status: EventStatus, retries: bool) -> None:
    results = [EventResult("accepted", "1"), EventResult(status, "2")]
    assert ("retry-after" in answer(results, tally(results), single=False).headers) == retries


def test_a_batch_is_answered_in_order_with_counts() -> None:
    results = [EventResult("accepted", "a"), EventResult("rejected", "b", error=WRONG)]
    assert json.loads(answer(results, tally(results), single=False).body) == {
        "accepted": 1,
        "rejected": 1,
        "failed": 0,
        "unknown": 0,
        "events": [
            {"status": "accepted", "id": "a"},
            {"status": "rejected", "id": "b", "error": {"code": "record.invalid", "message": "it is"}},
        ],
    }


def test_a_single_event_is_answered_by_itself() -> None:
    results = [EventResult("accepted", "a", duplicate=True)]
    body = json.loads(answer(results, tally(results), single=True).body)
    assert body == {"status": "accepted", "id": "a", "duplicate": True}
