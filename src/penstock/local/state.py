"""State of a running stack, published as `stack.json` in the data directory."""

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
    """Process identity that survives reuse of the pid."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Return the identity of the process with this pid, or None if there is none."""
        try:
            return cls(pid, _started(pid))
        except OSError:
            return None

    def process(self) -> psutil.Process | None:
        """Return the process if still alive."""
        try:
            found = psutil.Process(self.pid)
            same = _started(self.pid) == self.started
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except (OSError, psutil.NoSuchProcess):
            return None


def _started(pid: int) -> str:
    """Return the machine's boot id and the process's start tick. Clock changes do not affect either."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    return f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{after_name.split()[_START_TICK]}"


class Phase(StrEnum):
    """Phase of the stack as a whole."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class PartState(msgspec.Struct, frozen=True):
    """Current state of one part."""

    name: str
    version: str
    address: str
    log: str
    condition: Condition = Condition.WAITING
    reason: str = ""
    process: ProcessId | None = None


class StackState(msgspec.Struct, frozen=True):
    """Current state of the stack. `addresses` are the client settings to locate the stack."""

    supervisor: ProcessId
    phase: Phase
    addresses: dict[str, str]
    parts: tuple[PartState, ...] = ()

    def is_alive(self) -> bool:
        """Whether the stack's supervisor process still runs."""
        return self.supervisor.process() is not None


def read_state(data: Path) -> StackState | None:
    """Return the state file of a stack, or None if missing or unreadable."""
    try:
        return msgspec.json.decode((data / STATE_FILE).read_bytes(), type=StackState)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_state(data: Path, state: StackState) -> None:
    """Replace the state file atomically."""
    write_private(data / STATE_FILE, msgspec.json.format(msgspec.json.encode(state)).decode())


def remove_state(data: Path) -> None:
    """Remove the state file: no stack runs here."""
    (data / STATE_FILE).unlink(missing_ok=True)


def own_process() -> ProcessId:
    """Return the identity of the current process."""
    return ProcessId(os.getpid(), _started(os.getpid()))


def kill_leftovers(state: StackState) -> list[str]:
    """Kill the remaining processes of a dead stack and return the part names. Unrelated processes are never touched."""
    killed = []
    for part in state.parts:
        process = part.process.process() if part.process else None
        if process is not None:
            process.kill()
            killed.append(part.name)
    return killed


def memory_of(process: ProcessId | None) -> int:
    """Return the memory of a process and its children in bytes. Shared memory counts once."""
    root = process.process() if process else None
    if root is None:
        return 0
    try:
        first, *others = (each.memory_info() for each in (root, *root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0
    return int(first.rss + sum(each.rss - each.shared for each in others))
