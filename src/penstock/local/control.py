"""Control of a stack from a different process: find the state file, stop by signal, wipe the data."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from penstock.errors import NotRunning
from penstock.local.claim import VERSIONS_FILE, already_running
from penstock.local.state import StackState, kill_leftovers, read_state, remove_state

STOP_SECONDS = 60.0


def running_stack(data: Path) -> StackState:
    """Return the state of the stack running on this directory."""
    state = read_state(data)
    if state is None:
        raise NotRunning(f"no stack runs on {data}", hint="`penstock up` starts one, --data names another directory")
    if not state.is_alive():
        raise NotRunning(
            f"no stack runs on {data}; the last one (pid {state.supervisor.pid}) did not stop by itself",
            hint="`penstock up` starts it again, `penstock down` clears what it left",
        )
    return state


def refuse_running(data: Path) -> None:
    """Raise AlreadyRunning if a stack runs on this directory."""
    state = read_state(data)
    if state is not None and state.is_alive():
        raise already_running(data, state)


def stop_stack(data: Path) -> str:
    """Stop the stack of this directory in any state. Return a line describing the result."""
    state = read_state(data)
    if state is None:
        return "nothing was running"
    process = state.supervisor.process()
    if process is None:
        killed = kill_leftovers(state)
        remove_state(data)
        return f"the stack had died; killed what it left: {', '.join(killed)}" if killed else "the stack had died"
    _end(process)
    kill_leftovers(state)
    remove_state(data)
    return f"stopped {', '.join(part.name for part in reversed(state.parts))}"


def _end(process: psutil.Process) -> None:
    """Send SIGTERM. Kill the stack after a timeout; its parts die as well."""
    try:
        process.terminate()
        process.wait(STOP_SECONDS)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
    except psutil.NoSuchProcess:
        return


def check_wipeable(data: Path) -> None:
    """Refuse to remove a directory without a stack's data."""
    if not (data / VERSIONS_FILE).exists():
        raise NotRunning(f"{data} has no stack's data", hint="--data names the directory")


def wipe_data(data: Path) -> None:
    """Remove the data and logs of a stopped stack."""
    check_wipeable(data)
    refuse_running(data)
    shutil.rmtree(data)
