"""Something done again and again beside the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(do: Callable[[], None], seconds: float) -> Iterator[None]:
    """Do something again and again, in a thread, while the block runs."""
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
