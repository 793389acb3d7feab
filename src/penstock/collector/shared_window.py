"""One window for several workers: a symbolic link for each id, in a directory that they share.

Only one worker can win the making of a link, so only one sends the event; the link's target is its process id. When
the event is acknowledged the target becomes `done`; when it failed the link is taken away. The others look until they
see either. A link is made and replaced in one step, and needs no block on a disk.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import time

import psutil

from penstock.collector.window import EventKey, OwnWindow
from penstock.errors import DeliveryFailed
from penstock.kafka.acknowledged import Batch, Delivery, Underway

_LOOK_SECONDS = 0.01
_DONE = "done"


class SharedWindow:
    """A `Window` through which all workers look; each has its own part of it in memory, too."""

    def __init__(self, directory: Path, seconds: float, most: int) -> None:
        self._directory = directory
        self._seconds = seconds
        self._own = OwnWindow(seconds, most, on_forget=self.let_go)
        self._watching: set[asyncio.Task[None]] = set()

    def find(self, key: EventKey) -> Delivery | None:
        """See `Window`."""
        known = self._own.find(key)
        if known is not None or self._is_first(self._link(key)):
            return known
        elsewhere = Delivery(0, [], Underway(records=1))
        watching = asyncio.create_task(_watch(self._link(key), elsewhere))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return elsewhere

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """See `Window`."""
        self._own.remember(key, delivery)
        self._is_first(self._link(key))
        note = _Note(self._link(key), delivery)
        delivery.join(note)
        if delivery.settled:
            note.wake()

    def let_go(self, key: EventKey) -> None:
        """See `Window`."""
        self._link(key).unlink(missing_ok=True)

    def _is_first(self, link: Path) -> bool:
        """Whether this worker is now the one that sends the event; a link past its time counts for nothing."""
        with suppress(FileNotFoundError):
            if time() - link.lstat().st_mtime > self._seconds:
                link.unlink()
        try:
            link.symlink_to(str(os.getpid()))
        except FileExistsError:
            return False
        return True

    def _link(self, key: EventKey) -> Path:
        return self._directory / f"{sha256(repr(key).encode()).hexdigest()}.id"


class _Note(Batch):
    """Waits for one delivery of this worker, to tell the others how it ended."""

    def __init__(self, link: Path, delivery: Delivery) -> None:
        super().__init__(asyncio.get_running_loop())
        self._link = link
        self._delivery = delivery

    def wake(self) -> None:
        """Write down that the delivery is done, or take the link away."""
        if self._delivery.error is not None:
            self._link.unlink(missing_ok=True)
            return
        new = self._link.with_suffix(f".{os.getpid()}")
        new.symlink_to(_DONE)
        new.replace(self._link)


async def _watch(link: Path, delivery: Delivery) -> None:
    """Settle a delivery as the worker that has it says; one that died says nothing any more."""
    while (state := _state(link)) != _DONE:
        if state is None:
            delivery.fail(DeliveryFailed("the same event, taken by another worker, did not reach Kafka"))
            return
        _take_from_the_dead(link, int(state))
        await asyncio.sleep(_LOOK_SECONDS)
    delivery.settle()


def _take_from_the_dead(link: Path, pid: int) -> None:
    if not psutil.pid_exists(pid):
        link.unlink(missing_ok=True)


def _state(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return None
