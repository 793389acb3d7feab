"""Lifecycle of a part: boot, watch, stop."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor

import msgspec

from penstock.errors import NotRunning
from penstock.local.part import Condition, Part
from penstock.local.process import failed, how_it_ended, spawn
from penstock.local.state import PartState, ProcessId

STOP_SECONDS = 15.0
_POLL_SECONDS = 0.1


class Halted(Exception):
    """The stack is stopping, so the part stops booting."""


class Runner:
    """Process and state of a part. Processes start in the spawner's thread and die with the thread."""

    def __init__(
        self, part: Part, spawner: Executor, halt: threading.Event, on_change: Callable[[PartState], None]
    ) -> None:
        self.part = part
        self.state = PartState(part.name, part.version, part.address, str(part.log))
        self._spawner = spawner
        self._halt = halt
        self._on_change = on_change
        self._process: subprocess.Popen[bytes] | None = None
        self._deadline = 0.0
        self._looking = threading.Lock()

    def boot(self) -> None:
        """Prepare, start, wait for readiness and settle."""
        self._check_halt()
        self._process = None
        self._become(Condition.STARTING, process=None)
        self.part.prepare()
        self._check_halt()
        self._process = self._spawner.submit(spawn, self.part).result()
        self._become(Condition.STARTING, process=ProcessId.of(self._process.pid))
        self._await_ready(self._process)
        self.part.settle()
        self._become(Condition.READY)

    def look(self) -> PartState:
        """Return the current state. An unexpected end of the process marks the part as dead."""
        with self._looking:
            code = self._process.poll() if self._process else None
            if code is not None and self.state.condition in {Condition.STARTING, Condition.READY}:
                self._become(Condition.DEAD, reason=how_it_ended(code), process=None)
            return self.state

    def kill(self) -> None:
        """Kill the process, like a crash."""
        if self._process is None or self._process.poll() is not None:
            raise NotRunning(f"{self.part.name} is not running")
        self._process.kill()
        self._process.wait()
        self.look()

    def ask_to_stop(self) -> None:
        """Send the stop signal to a running part."""
        self._deadline = time.monotonic() + STOP_SECONDS
        if self._process and self._process.poll() is None:
            self._become(Condition.STOPPING)
            self._process.send_signal(self.part.stop_signal)

    def await_stop(self) -> None:
        """Wait for the part to end. Kill it after the deadline."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._become(Condition.STOPPED, process=None)

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + self.part.patience
        while not self.part.is_ready():
            self._check_halt(_POLL_SECONDS)
            if process.poll() is not None:
                self.look()
                raise failed(self.part.name, how_it_ended(process.returncode), self.part.log)
            if time.monotonic() > deadline:
                raise failed(self.part.name, f"was not ready within {self.part.patience:.0f} s", self.part.log)

    def _check_halt(self, seconds: float = 0.0) -> None:
        if self._halt.wait(seconds):
            raise Halted(self.part.name)

    def _become(self, condition: Condition, *, reason: str = "", **changes: ProcessId | None) -> None:
        self.state = msgspec.structs.replace(self.state, condition=condition, reason=reason, **changes)
        self._on_change(self.state)
