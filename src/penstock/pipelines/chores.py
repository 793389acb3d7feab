"""Periodic background chores of a driver. Each chore runs on a separate thread and never stops a query."""

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
    """Periodic task. Failures are logged and retried in the next period."""

    name: str
    every: float
    do: Callable[[], None]
    close: Callable[[], None] = lambda: None


@contextmanager
def doing(chores: Sequence[Chore]) -> Iterator[None]:
    """Run chores during the block. At the end, wait up to ten seconds for each running chore."""
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
