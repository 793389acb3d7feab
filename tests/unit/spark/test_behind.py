from __future__ import annotations

import threading

import pytest

from penstock.spark.queries.behind import Behind


class Failed(Exception):
    """What a work fails with."""


def fail() -> None:
    raise Failed


def test_works_are_done_one_after_the_other_in_their_order() -> None:
    behind, gate, done = Behind(), threading.Event(), list[int]()

    def first() -> None:
        gate.wait(10)
        done.append(1)

    behind.begin(first)
    assert behind.is_busy
    gate.set()
    behind.begin(lambda: done.append(2))
    behind.wait()
    assert (done, behind.is_busy, behind.failure) == ([1, 2], False, None)


def test_nothing_is_begun_behind_a_failure() -> None:
    behind, done = Behind(), list[int]()
    behind.begin(fail)
    with pytest.raises(Failed):
        behind.begin(lambda: done.append(1))
    with pytest.raises(Failed):
        behind.wait()
    assert isinstance(behind.failure, Failed)
    assert done == []


def test_who_only_lets_it_settle_hears_of_no_failure_and_waits_no_longer_than_asked() -> None:
    behind, other, gate = Behind(), Behind(), threading.Event()

    def slow() -> None:
        gate.wait(10)

    behind.begin(fail)
    behind.settle(10)
    assert isinstance(behind.failure, Failed)
    other.begin(slow)
    other.settle(0.01)
    assert (other.is_busy, other.failure) == (True, None)
    gate.set()
    other.wait()
