"""Claims of workers on event ids: one symbolic link per id, in a directory shared by the workers.

Creating a link succeeds for one worker only. The link's target names the worker and records whether the event is in
Kafka. Nobody removes a living worker's claim on an event underway. Expired claims, and claims of dead workers, are
removed under a lock: two workers that find an expired claim must not remove each other's new claim.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from time import time
from typing import NamedTuple

from penstock.collector.window import EventKey

_DONE = "done"
_UNDERWAY = "underway"


class Claim(NamedTuple):
    """Content of a link: the worker that claimed the id, and whether the event is in Kafka."""

    owner: str
    is_done: bool

    @property
    def is_dead(self) -> bool:
        """Whether the event's result will never be known, because the sending worker is gone."""
        return not self.is_done and not _is_alive(int(self.owner.partition("-")[0]))


class Claims:
    """One worker's view of the links. Raises OSError if a link cannot be created, for example on a full disk."""

    def __init__(self, directory: Path, seconds: float) -> None:
        self._directory = directory
        self._seconds = seconds
        self._own = f"{os.getpid()}-{token_hex(4)}"  # a process id alone may be reused by a later process
        self._lock = os.open(directory, os.O_RDONLY)

    def link(self, key: EventKey) -> Path:
        """Return the path of the claim on an event's id."""
        return self._directory / f"{sha256(repr(key).encode()).hexdigest()}.id"

    def make(self, link: Path) -> bool:
        """Claim an id for this worker. Return False if a valid claim exists; expired claims do not count."""
        return self._is_made(link) or (self._is_over(link) and self._is_made(link))

    def read(self, link: Path) -> Claim | None:
        """Return the claim on the id, or None."""
        try:
            state, _, owner = str(link.readlink()).partition(" ")
        except FileNotFoundError:
            return None
        return Claim(owner, state == _DONE)

    def finish(self, link: Path) -> None:
        """Mark this worker's own claim as done: the event is in Kafka."""
        if self._is_own(link):
            new = link.with_suffix(f".{self._own}")
            new.symlink_to(f"{_DONE} {self._own}")
            new.replace(link)

    def drop(self, link: Path) -> None:
        """Remove the claim if owned by this worker."""
        with self._locked():
            if self._is_own(link):
                link.unlink()

    def drop_dead(self, link: Path) -> None:
        """Remove a dead worker's claim on an event that was underway."""
        with self._locked():
            claim = self.read(link)
            if claim is not None and claim.is_dead:
                link.unlink()

    def _is_made(self, link: Path) -> bool:
        try:
            link.symlink_to(f"{_UNDERWAY} {self._own}")
        except FileExistsError:
            return False
        return True

    def _is_over(self, link: Path) -> bool:
        """Return whether the claim had expired and was removed."""
        if not self._is_old(link):
            return False
        with self._locked(), suppress(FileNotFoundError):
            claim = self.read(link)
            if self._is_old(link) and claim is not None and (claim.is_done or claim.is_dead):
                link.unlink()
                return True
        return False

    def _is_old(self, link: Path) -> bool:
        try:
            return time() - link.lstat().st_mtime > self._seconds
        except FileNotFoundError:
            return False

    def _is_own(self, link: Path) -> bool:
        claim = self.read(link)
        return claim is not None and claim.owner == self._own

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock for a few system calls. The kernel releases the lock if the worker is killed."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # another user's process cannot be one of our workers
        return False
    return True
