"""What a driver does beside its queries, now and then: each chore on a thread of its own, and none stops a query."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.errors import PenstockError

_PATIENCE_SECONDS = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chore:
    """Something to do every so many seconds; what fails is logged, and done again at the next time."""

    name: str
    every: float
    do: Callable[[], None]
    close: Callable[[], None] = lambda: None


@contextmanager
def doing(chores: Sequence[Chore]) -> Iterator[None]:
    """Do chores while the block runs; at its end, one that is underway may finish within a while."""
    stop = threading.Event()
    threads = [threading.Thread(target=_repeat, args=(chore, stop), daemon=True) for chore in chores]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE_SECONDS)


def _repeat(chore: Chore, stop: threading.Event) -> None:
    failure = ""
    while not stop.wait(chore.every):
        now = _failure(chore.do)
        if now and now != failure:
            _log.warning("%s is tried again every %.0f s: %s", chore.name, chore.every, now)
        failure = now
    _failure(chore.close)


def _failure(do: Callable[[], None]) -> str:
    try:
        do()
    except PenstockError as error:
        return str(error)
    return ""
