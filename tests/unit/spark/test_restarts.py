"""When a query that failed is started again, and when it stays down."""

from __future__ import annotations

import pytest

from penstock.errors import BatchFailed, BrokerUnavailable, PenstockError, QueryFailed, UnknownFailure
from penstock.spark.queries.restarts import MOST_REPEATS, SUSPECT_AFTER, Restarts, Verdict


def after(*errors: PenstockError, got_on_before_last: bool = False) -> Verdict:
    """What the last of these failures leads to."""
    verdict = Verdict(Restarts(), errors[0], 0)
    for number, error in enumerate(errors, 1):
        got_on = got_on_before_last and number == len(errors)
        verdict = verdict.restarts.after(error, got_on=got_on)
    return verdict


def unknown(number: int) -> UnknownFailure:
    return UnknownFailure(f"File already exists: staging/882a1a63-5a64-{number:04}/{number}/kind=x", hint="look")


def test_pauses_double_up_to_a_minute_and_start_over_after_progress() -> None:
    away = BrokerUnavailable("no broker answers")
    assert [after(*[away] * count).pause for count in (1, 2, 3, 30)] == [1, 2, 4, 60]
    assert after(*[away] * 30, got_on_before_last=True).pause == 1


def test_a_terminal_failure_stays_down_at_once() -> None:
    assert after(QueryFailed("no such column")).pause is None


def test_a_batch_that_fails_again_and_again_in_the_same_way_stays_down_with_its_reason() -> None:
    last = after(*map(unknown, range(MOST_REPEATS)))
    assert last.pause is None
    assert isinstance(last.error, BatchFailed)
    assert (last.error.code, last.error.hint) == ("pipeline.batch_failed", "look")
    assert "failed 10 times in the same way: File already exists" in last.error.message


@pytest.mark.parametrize(
    "errors",
    [
        [unknown(number) for number in range(MOST_REPEATS - 1)],
        [BrokerUnavailable("no broker answers")] * 50,
        [UnknownFailure(f"reason {'abcdefgh'[number % 2] * 3}") for number in range(50)],
        [*map(unknown, range(MOST_REPEATS - 1)), BrokerUnavailable("away"), *map(unknown, range(MOST_REPEATS - 1))],
    ],
    ids=["not often enough", "a system that is away", "other reasons in between", "a system away in between"],
)
def test_other_failures_are_retried_without_end(errors: list[PenstockError]) -> None:
    assert after(*errors).pause is not None


def test_progress_in_between_starts_the_count_over() -> None:
    assert after(*map(unknown, range(MOST_REPEATS)), got_on_before_last=True).restarts.repeats == 1


def test_a_batch_is_searched_once_for_messages_that_make_it_fail() -> None:
    suspected = [after(*map(unknown, range(count))).restarts.is_suspect for count in range(1, MOST_REPEATS)]
    assert suspected == [count == SUSPECT_AFTER for count in range(1, MOST_REPEATS)]
