"""Periodic work in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(do: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `do` periodically on a thread during the block."""
    ended = threading.Event()

    def keep_doing() -> None:
        while not ended.wait(seconds):
            do()

    thread = threading.Thread(target=keep_doing, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
