"""State of a connector: its settings, status and tasks."""

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
    """State of a task: its worker, and the stack trace of its failure."""

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
    """State of a connector: status, tasks, and settings. The text form of the settings hides secrets."""

    name: str
    settings: Mapping[str, Any]
    state: str
    worker: str
    tasks: tuple[TaskState, ...]
    trace: str = ""

    @property
    def kind(self) -> str:
        """The name of the connector class, without the package."""
        return str(self.settings.get("connector.class", "")).rpartition(".")[2]

    @property
    def is_running(self) -> bool:
        """Whether the connector runs with at least one task, and every task runs."""
        return self.state == RUNNING and bool(self.tasks) and all(task.state == RUNNING for task in self.tasks)

    @property
    def is_stopped(self) -> bool:
        """Whether the connector is stopped and its last task has ended."""
        return self.state == STOPPED and not self.tasks

    @property
    def failure(self) -> str:
        """The reasons for failures of the connector and its tasks; empty without failures."""
        failed = [task for task in self.tasks if task.state == FAILED]
        reasons = [readable(self.trace)] if self.state == FAILED else []
        return "; ".join([*reasons, *(f"task {task.number}: {task.reason}" for task in failed)])


def state_of(info: Mapping[str, Any], status: Mapping[str, Any]) -> ConnectorState:
    """Build the state from responses of Connect's REST interface."""
    connector = status["connector"]
    tasks = tuple(
        TaskState(task["id"], task["state"], task.get("worker_id", ""), task.get("trace", ""))
        for task in status["tasks"]
    )
    trace = connector.get("trace", "")
    worker = connector.get("worker_id", "")
    return ConnectorState(info["name"], PassThrough(info["config"]), connector["state"], worker, tasks, trace)


def readable(trace: str) -> str:
    """Summarize a Java stack trace in one line: the outermost error, then the innermost cause."""
    causes = [found for line in trace.splitlines() if (found := _CAUSE.match(line.strip()))]
    if not causes:
        return trace.strip().splitlines()[0] if trace.strip() else "no reason is given"
    first, last = _told(causes[0]), _told(causes[-1])
    return last if first in last or len(causes) == 1 else f"{first}: {last}"


def _told(cause: re.Match[str]) -> str:
    text = (cause["text"] or "").strip().rstrip(".:")
    return text or cause["kind"].rpartition(".")[2]
