"""Exclusive claim of a data directory: lock the directory, clean up after a crash, and check the data's version."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from penstock.errors import AlreadyRunning, DataMismatch, DiskFull
from penstock.local.files import make_directory, make_private_directory, write_private
from penstock.local.state import StackState, kill_leftovers, read_state, remove_state

LOCK_FILE = "stack.lock"
VERSIONS_FILE = "versions.json"
MIN_FREE_BYTES = 512 * 1024 * 1024
_MIB = 1024 * 1024

_BEFORE_A_STACK = {LOCK_FILE, "logs"}

Facts = dict[str, str]
"""Properties that the data depends on, such as `{"kafka": "4.3.1", "brokers": "3"}`."""


class Claim:
    """Data directory held by this process until the claim is released or the process ends."""

    def __init__(self, data: Path, facts: Facts, notice: Callable[[str], None]) -> None:
        self._versions, self._facts = data / VERSIONS_FILE, facts
        make_directory(data)
        self._lock = _locked(data)
        with ExitStack() as undo:
            undo.callback(self.release)
            clear_stale(data, notice)
            check_facts(data, facts)
            make_private_directory(data)
            check_disk(data)
            undo.pop_all()

    def remember_facts(self) -> None:
        """Record the properties that the data depends on. Called right before the first write."""
        write_private(self._versions, msgspec.json.format(msgspec.json.encode(self._facts)).decode())

    def release(self) -> None:
        """Release the directory."""
        self._lock.close()


def _locked(data: Path) -> IO[str]:
    lock = (data / LOCK_FILE).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise already_running(data, read_state(data)) from None
    return lock


def already_running(data: Path, state: StackState | None) -> AlreadyRunning:
    """Return the error for a directory in use by a running stack."""
    who = f" (pid {state.supervisor.pid})" if state else ""
    hint = "`penstock status` shows it, `penstock down` stops it, --data starts another elsewhere"
    return AlreadyRunning(f"a stack runs on {data} already{who}", hint=hint)


def clear_stale(data: Path, notice: Callable[[str], None]) -> None:
    """Report an unclean stop of the previous stack, and kill the remaining processes."""
    state = read_state(data)
    if state is None:
        return
    killed = kill_leftovers(state)
    what = f"; killed what it left: {', '.join(killed)}" if killed else ", and left no process"
    notice(f"the last stack here (pid {state.supervisor.pid}) did not stop by itself{what}")
    remove_state(data)


def check_facts(data: Path, facts: Facts) -> None:
    """Reject data written by a different version or with different options."""
    file = data / VERSIONS_FILE
    if not file.exists():
        _begin(data)
    try:
        before = msgspec.json.decode(file.read_bytes(), type=Facts)
    except msgspec.DecodeError as error:
        raise DataMismatch(f"{file} cannot be read: {error}", hint="use another directory with --data") from error
    for name, value in facts.items():
        if before.get(name, value) != value:
            raise DataMismatch(
                f"the data in {data} is of {name} {before[name]}, not {value}",
                hint="start it as it was, use another directory with --data, or `penstock down --wipe` it",
            )


def _begin(data: Path) -> None:
    """Mark the directory as owned by a stack. The mark remains until the directory is wiped."""
    foreign = sorted({entry.name for entry in data.iterdir()} - _BEFORE_A_STACK)
    if foreign:
        raise DataMismatch(
            f"{data} has files that are not a stack's, such as {foreign[0]}",
            hint="use an empty or a new directory with --data",
        )
    (data / ".gitignore").write_text("*\n", encoding="ascii")
    write_private(data / VERSIONS_FILE, "{}")


def check_disk(data: Path) -> None:
    """Refuse to start if Kafka and PostgreSQL would soon run out of disk space."""
    free = shutil.disk_usage(data).free
    if free < MIN_FREE_BYTES:
        raise DiskFull(
            f"{free // _MIB} MiB are free for {data}, and the stack needs {MIN_FREE_BYTES // _MIB} MiB to begin with",
            hint="free some room, or use another disk with --data",
        )
