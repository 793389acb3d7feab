"""The action that is measured, run by Penstock and by DataHub Actions alike: it counts, may wait, and may be killed.

Standard library only, since it runs in the peer's virtual environment too.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from threading import Lock
from typing import Any

try:
    from datahub_actions.action.action import Action as Base  # the peer takes nothing else
except ImportError:
    Base = object


class Measured(Base):
    """Reports the time from its first event to its last, then ends the process.

    `events` is how many to take, `report` the file for the times, `wait` how long each takes. `notes` is a file for
    the place of every event, and after `die_after` events the process is killed with -9.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self._events = config["events"]
        self._report = Path(config["report"])
        self._wait = config.get("wait", 0)
        self._die_after = config.get("die_after")
        self._notes = os.open(config["notes"], os.O_CREAT | os.O_APPEND | os.O_WRONLY) if "notes" in config else None
        self._count = 0
        self._started = self._started_cpu = 0.0
        self._lock = Lock()

    @classmethod
    def create(cls, config_dict: dict[str, Any], _ctx: object) -> Measured:
        """As both programs make an action."""
        return cls(config_dict)

    def act(self, event: Any) -> None:  # noqa: ANN401 - each program has its own class
        """Count one event."""
        if self._wait:
            time.sleep(self._wait)
        if self._notes is not None:
            place = event.meta["kafka"]
            os.write(self._notes, f"{place['partition']} {place['offset']}\n".encode())
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._started, self._started_cpu = time.perf_counter(), time.process_time()
            if self._count == self._die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            if self._count == self._events:
                self._end()

    def close(self) -> None:
        """Nothing is held."""

    def _end(self) -> None:
        times = {
            "events": self._count - 1,
            "seconds": time.perf_counter() - self._started,
            "cpu_seconds": time.process_time() - self._started_cpu,
        }
        self._report.write_text(json.dumps(times), encoding="ascii")
        os._exit(0)
