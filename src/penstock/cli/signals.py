"""Signal handling: SIGTERM and a closed terminal (SIGHUP) behave like Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_SECONDS = 1.0


@contextmanager
def ends_by_signal() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block for Ctrl-C, SIGTERM and SIGHUP. With nohup, SIGHUP stays ignored."""
    came = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        came.set()
        _interrupt(number, frame)

    with _handled(handle):
        try:
            yield
        except TypeError:
            # confluent-kafka turns an interrupt into TypeError while it reads the options of a new client.
            if came.is_set():
                raise KeyboardInterrupt from None
            raise


@contextmanager
def stops_by_signal(stop: threading.Event) -> Iterator[None]:
    """Set the event on the first signal, so that the block can finish. A later signal interrupts.

    An immediate second signal counts as the first: `timeout` signals a process and then its group.
    """
    first = math.inf

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal first
        first = min(first, monotonic())
        if monotonic() - first > _SAME_SECONDS:
            _interrupt(number, frame)
        stop.set()

    with _handled(handle):
        yield


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        if number is not signal.SIGHUP or before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
