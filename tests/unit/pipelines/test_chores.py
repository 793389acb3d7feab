from __future__ import annotations

import logging
import threading

import pytest

from penstock.errors import BrokerUnavailable
from penstock.pipelines.chores import Chore, doing


def test_a_chore_that_fails_is_done_again_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tries, closed = [0], threading.Event()
    often = threading.Event()

    def fail() -> None:
        tries[0] += 1
        if tries[0] >= 3:
            often.set()
        raise BrokerUnavailable("no broker answers")

    with caplog.at_level(logging.WARNING), doing([Chore("telling", 0.001, fail, closed.set)]):
        assert often.wait(5)
    assert closed.is_set()
    assert [record.message for record in caplog.records] == ["telling is tried again every 0 s: no broker answers"]
