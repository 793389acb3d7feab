"""Which worker took an id: a symbolic link for each, in a directory that the workers share.

Only one worker can win the making of a link; its target names the worker, and says when the event is in Kafka. Nobody
takes away what a living worker has underway. What is past its time, or a dead worker's, is taken away under a lock, so
that two who find it do not take away what one of them has made anew.
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
    """What a link says: who took the id, and whether its event is in Kafka."""

    owner: str
    is_done: bool

    @property
    def is_dead(self) -> bool:
        """Whether its event will never be heard of again, since the worker that had it underway is gone."""
        return not self.is_done and not _is_alive(int(self.owner.partition("-")[0]))


class Claims:
    """One worker's view of the links; where one cannot be made, for want of room or otherwise, an OSError says so."""

    def __init__(self, directory: Path, seconds: float) -> None:
        self._directory = directory
        self._seconds = seconds
        self._own = f"{os.getpid()}-{token_hex(4)}"  # not the number alone, which another process may have one day
        self._lock = os.open(directory, os.O_RDONLY)

    def link(self, key: EventKey) -> Path:
        """Where the claim on an event's id is, or would be."""
        return self._directory / f"{sha256(repr(key).encode()).hexdigest()}.id"

    def make(self, link: Path) -> bool:
        """Claim an id for this worker; whether it was the first. A claim past its time counts for nothing."""
        return self._is_made(link) or (self._is_over(link) and self._is_made(link))

    def read(self, link: Path) -> Claim | None:
        """Who has the id, if somebody does."""
        try:
            state, _, owner = str(link.readlink()).partition(" ")
        except FileNotFoundError:
            return None
        return Claim(owner, state == _DONE)

    def finish(self, link: Path) -> None:
        """Say of this worker's own claim that the event is in Kafka."""
        if self._is_own(link):
            new = link.with_suffix(f".{self._own}")
            new.symlink_to(f"{_DONE} {self._own}")
            new.replace(link)

    def drop(self, link: Path) -> None:
        """Take this worker's own claim away, and nobody else's."""
        with self._locked():
            if self._is_own(link):
                link.unlink()

    def drop_dead(self, link: Path) -> None:
        """Take a dead worker's claim on what it had underway away."""
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
        """Whether a claim is past its time, and was taken away."""
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
        """Held for a few system calls at a time; the kernel takes it from a worker that is killed."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # a stranger's process is none of our workers
        return False
    return True
