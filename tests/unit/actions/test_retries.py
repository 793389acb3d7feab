from __future__ import annotations

from socket import gaierror

import httpx
import pytest

from penstock.actions.retries import Retries, may_pass, told
from penstock.actions.spec import Options
from penstock.errors import BrokerUnavailable, RecordInvalid, Transient

RETRIES = Retries(count=5, first_pause=1.0, longest_pause=6.0, every_error=False)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (Transient("busy"), True),
        (BrokerUnavailable("away"), True),
        (ConnectionResetError("reset"), True),
        (TimeoutError("slow"), True),
        (RecordInvalid("wrong"), False),
        (ValueError("wrong"), False),
        (FileNotFoundError("gone"), False),
        (SystemExit(3), False),
    ],
)
def test_only_what_may_pass_is_tried_again(error: BaseException, passes: bool) -> None:
    assert may_pass(error) is passes
    assert (RETRIES.pause(1, error, 0.5) is not None) is passes


def test_a_library_s_own_error_passes_if_a_connection_is_its_cause() -> None:
    with pytest.raises(httpx.ConnectError) as refused:
        httpx.get("http://127.0.0.1:1", trust_env=False)
    assert may_pass(refused.value)
    assert may_pass(raised(RuntimeError("wrapped"), TimeoutError("slow")))
    assert may_pass(raised(RuntimeError("wrapped"), gaierror("no name")))


def test_the_first_of_our_own_errors_among_the_causes_decides() -> None:
    assert not may_pass(raised(RecordInvalid("wrong"), ConnectionResetError("reset")))
    assert not may_pass(raised(RuntimeError("wrapped"), raised(RecordInvalid("wrong"), TimeoutError("slow"))))
    assert not may_pass(raised(RuntimeError("wrapped"), ValueError("wrong")))


def raised(error: Exception, cause: BaseException) -> BaseException:
    """An error as it is after it was raised while another was handled."""
    error.__context__ = cause
    return error


def test_pauses_double_up_to_a_limit_and_half_of_each_is_by_chance() -> None:
    error = Transient("busy")
    assert [RETRIES.pause(attempt, error, 1.0) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 6.0, 6.0]
    assert [RETRIES.pause(attempt, error, 0.0) for attempt in (1, 2)] == [0.5, 1.0]


def test_retries_end_after_their_number() -> None:
    assert RETRIES.pause(6, Transient("busy"), 0.5) is None
    assert Retries.of(Options()).pause(1, Transient("busy"), 0.5) is None


def test_an_error_may_say_when_to_come_back() -> None:
    assert RETRIES.pause(1, Transient("busy", retry_after=3.0), 0.5) == 3.0
    assert RETRIES.pause(1, Transient("busy", retry_after=300.0), 0.5) == 6.0


def test_every_error_is_tried_again_where_that_is_asked_for() -> None:
    options = Options(retry_count=2, retry_on="any")
    assert Retries.of(options).pause(1, ValueError("wrong"), 0.5) is not None


def test_errors_are_told_with_a_code() -> None:
    assert told(RecordInvalid("field x")) == ("record.invalid", "field x")
    assert told(ValueError("bad")) == ("action.raised", "ValueError: bad")
    assert told(KeyError()) == ("action.raised", "KeyError")
