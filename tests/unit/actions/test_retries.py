from __future__ import annotations

import errno
from email.message import Message
from socket import gaierror
from urllib.error import HTTPError

import httpx
import psycopg
import pytest

from penstock.actions.retries import Retries, may_pass, told
from penstock.actions.spec import Options
from penstock.errors import BrokerUnavailable, RecordInvalid, Transient

REQUEST = httpx.Request("GET", "http://h")
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
        (FileNotFoundError("not there yet"), True),
        (OSError(errno.EHOSTUNREACH, "no route to host"), True),
        (psycopg.OperationalError("connection refused"), True),
        (psycopg.DataError("out of range"), False),
        (httpx.HTTPStatusError("busy", request=REQUEST, response=httpx.Response(503)), True),
        (httpx.HTTPStatusError("slow down", request=REQUEST, response=httpx.Response(429)), True),
        (httpx.HTTPStatusError("wrong", request=REQUEST, response=httpx.Response(404)), False),
        (HTTPError("http://h", 503, "busy", Message(), None), True),
        (HTTPError("http://h", 400, "wrong", Message(), None), False),
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


def test_every_error_is_retried_where_only_a_count_is_given() -> None:
    assert Retries.of(Options(retry_count=2)).pause(2, ValueError("wrong"), 0.5) is not None
    assert Retries.of(Options(retry_count=2)).pause(3, ValueError("wrong"), 0.5) is None


def test_retry_on_says_which_errors_are_retried() -> None:
    every, some = Options(retry_count=2, retry_on="any"), Options(retry_count=2, retry_on="transient")
    assert Retries.of(every).pause(1, ValueError("wrong"), 0.5) is not None
    assert Retries.of(some).pause(1, ValueError("wrong"), 0.5) is None
    assert Retries.of(some).pause(1, TimeoutError("slow"), 0.5) is not None


def test_errors_are_told_with_a_code() -> None:
    assert told(RecordInvalid("field x")) == ("record.invalid", "field x")
    assert told(ValueError("bad")) == ("action.raised", "ValueError: bad")
    assert told(KeyError()) == ("action.raised", "KeyError")
