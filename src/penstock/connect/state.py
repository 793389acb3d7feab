"""What a connector is and how it is: its settings, its state, the state of its tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.config.secrets import PassThrough

RUNNING: Final = "RUNNING"
FAILED: Final = "FAILED"
STOPPED: Final = "STOPPED"
UNASSIGNED: Final = "UNASSIGNED"

_CAUSE = re.compile(r"^(?:Caused by: )?(?P<kind>[\w.$]+(?:Exception|Error)\w*)(?:: (?P<text>.*))?$")


@dataclass(frozen=True)
class TaskState:
    """One task: where it runs, and why it failed if it did."""

    number: int
    state: str
    worker: str
    trace: str = ""

    @property
    def reason(self) -> str:
        """The failure in one line."""
        return readable(self.trace)


@dataclass(frozen=True)
class ConnectorState:
    """A connector: its settings, whose text form hides secrets, and how it and its tasks are."""

    name: str
    settings: Mapping[str, Any]
    state: str
    worker: str
    tasks: tuple[TaskState, ...]
    trace: str = ""

    @property
    def kind(self) -> str:
        """The name of its class, without the package."""
        return str(self.settings.get("connector.class", "")).rpartition(".")[2]

    @property
    def is_running(self) -> bool:
        """Whether it and at least one task run, and no task has failed."""
        return self.state == RUNNING and bool(self.tasks) and all(task.state == RUNNING for task in self.tasks)

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped, and its last task has ended."""
        return self.state == STOPPED and not self.tasks

    @property
    def failure(self) -> str:
        """Why it does not run; empty if nothing has failed."""
        failed = [task for task in self.tasks if task.state == FAILED]
        reasons = [readable(self.trace)] if self.state == FAILED else []
        return "; ".join([*reasons, *(f"task {task.number}: {task.reason}" for task in failed)])


def state_of(info: Mapping[str, Any], status: Mapping[str, Any]) -> ConnectorState:
    """From what Connect's REST interface tells."""
    connector = status["connector"]
    tasks = tuple(
        TaskState(task["id"], task["state"], task.get("worker_id", ""), task.get("trace", ""))
        for task in status["tasks"]
    )
    trace = connector.get("trace", "")
    worker = connector.get("worker_id", "")
    return ConnectorState(info["name"], PassThrough(info["config"]), connector["state"], worker, tasks, trace)


def readable(trace: str) -> str:
    """A trace of Java in one line: its innermost cause, which is what went wrong, after what was being done."""
    causes = [found for line in trace.splitlines() if (found := _CAUSE.match(line.strip()))]
    if not causes:
        return trace.strip().splitlines()[0] if trace.strip() else "no reason is given"
    first, last = _told(causes[0]), _told(causes[-1])
    return last if first in last or len(causes) == 1 else f"{first}: {last}"


def _told(cause: re.Match[str]) -> str:
    text = (cause["text"] or "").strip().rstrip(".:")
    return text or cause["kind"].rpartition(".")[2]
