from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from penstock.cli.signals import ends_by_signal, stops_by_signal


@pytest.fixture(autouse=True)
def hangup_is_not_ignored() -> Iterator[None]:
    """As without nohup, under which these tests may be run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    time.sleep(1)


def send_in_a_library() -> None:
    try:
        send(signal.SIGINT)
    except KeyboardInterrupt:
        raise TypeError("expected configuration property name as type unicode string") from None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_any_of_the_signals_interrupts(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), ends_by_signal():
        send(number)


def test_an_interrupt_that_a_library_made_another_error_of_is_still_one() -> None:
    with pytest.raises(KeyboardInterrupt), ends_by_signal():
        send_in_a_library()


def test_an_error_without_a_signal_stays_what_it_is() -> None:
    with pytest.raises(TypeError), ends_by_signal():
        raise TypeError("a mistake")


def test_the_first_signal_asks_to_stop_and_one_that_comes_with_it_means_the_same() -> None:
    stop = threading.Event()
    with stops_by_signal(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
    assert stop.is_set()


def test_a_later_signal_interrupts() -> None:
    with stops_by_signal(threading.Event()):
        send(signal.SIGTERM)
        time.sleep(0.1)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGTERM)
