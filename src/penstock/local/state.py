"""What can be known of a running stack from outside: the file `stack.json` in its data directory."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

import msgspec
import psutil

from penstock.local.files import write_private
from penstock.local.part import Condition

STATE_FILE = "stack.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_TICK = 19


class ProcessId(msgspec.Struct, frozen=True):
    """A process that cannot be mistaken for a later one of the same number."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The process of this number, if there is one."""
        try:
            return cls(pid, _started(pid))
        except OSError:
            return None

    def process(self) -> psutil.Process | None:
        """The process itself, if it still lives."""
        try:
            found = psutil.Process(self.pid)
            same = _started(self.pid) == self.started
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except (OSError, psutil.NoSuchProcess):
            return None


def _started(pid: int) -> str:
    """The boot of the machine and the tick of its clock in which a process began; no setting of the time moves it."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    return f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{after_name.split()[_START_TICK]}"


class Phase(StrEnum):
    """What the stack as a whole is doing."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class PartState(msgspec.Struct, frozen=True):
    """One part as it is now."""

    name: str
    version: str
    address: str
    log: str
    condition: Condition = Condition.WAITING
    reason: str = ""
    process: ProcessId | None = None


class StackState(msgspec.Struct, frozen=True):
    """The stack as it is now; `addresses` are what a client needs to find it, by setting."""

    supervisor: ProcessId
    phase: Phase
    addresses: dict[str, str]
    parts: tuple[PartState, ...] = ()

    def is_alive(self) -> bool:
        """Whether the process that keeps the stack still runs."""
        return self.supervisor.process() is not None


def read_state(data: Path) -> StackState | None:
    """The state that a stack left in its directory, or None if there is none that can be read."""
    try:
        return msgspec.json.decode((data / STATE_FILE).read_bytes(), type=StackState)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_state(data: Path, state: StackState) -> None:
    """Replace the state as a whole."""
    write_private(data / STATE_FILE, msgspec.json.format(msgspec.json.encode(state)).decode())


def remove_state(data: Path) -> None:
    """Say that no stack runs here."""
    (data / STATE_FILE).unlink(missing_ok=True)


def own_process() -> ProcessId:
    """This process."""
    return ProcessId(os.getpid(), _started(os.getpid()))


def kill_leftovers(state: StackState) -> list[str]:
    """Kill what a stack left behind when it was killed itself, and name it; other processes are never touched."""
    killed = []
    for part in state.parts:
        process = part.process.process() if part.process else None
        if process is not None:
            process.kill()
            killed.append(part.name)
    return killed


def memory_of(process: ProcessId | None) -> int:
    """The bytes of memory that a process and its children hold; what they share counts once."""
    root = process.process() if process else None
    if root is None:
        return 0
    try:
        first, *others = (each.memory_info() for each in (root, *root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0
    return int(first.rss + sum(each.rss - each.shared for each in others))
