"""Actions that raise, hang, end the process, return nonsense or leak: what each does to its events and to others."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from penstock import Producer
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.kafka.topics import ensure_topic
from penstock.local.ports import free_port_settings
from tests.faults.action_group import wait_until

ALL = [0, 1, 2, 3, 4, 5]
Process = subprocess.Popen[bytes]


class Case:
    """A pipeline over six events, the third of which its action takes badly."""

    def __init__(self, topic: str, folder: Path, how: str, **more: Any) -> None:
        self.name = f"{topic}-{re.sub(r'[ .]', '-', how)}"
        self.notes = folder / f"{self.name}.notes"
        self.file = folder / f"{self.name}.yaml"
        self._failed = folder / "failed"
        config = {"how": how, "notes": str(self.notes), **more.pop("config", {})}
        spec = {
            "name": self.name,
            "source": {
                "config": {
                    "connection": {"consumer_config": {"auto.offset.reset": "earliest", "session.timeout.ms": 6000}},
                    "topic_routes": {"steps": topic},
                    "commit": "sync",
                    "commit_every": 1,
                }
            },
            "action": {"type": "misbehaving_action:Misbehaving", "config": config},
            "options": {"failed_events_dir": str(self._failed), "dead_letters": False, "shutdown_timeout": 1, **more},
        }
        self.file.write_text(yaml.safe_dump(spec))

    def done(self) -> list[int]:
        return [int(line) for line in self.notes.read_text().split()] if self.notes.exists() else []

    def failed(self) -> list[dict[str, Any]]:
        logs = [path for path in self._failed.rglob("failed_events.log") if path.parent.name == self.name.lower()]
        return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


@pytest.fixture
def steps(settings: Settings, topic: str) -> str:
    """A topic with six events of different keys."""
    ensure_topic(settings, topic, partitions=1)
    with Producer(topic, serializer=lambda value: json.dumps(value).encode(), settings=settings) as producer:
        for number in ALL:
            producer.send({"number": number}, key=f"key-{number}")
    return topic


@pytest.fixture
def start(settings: Settings, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start `penstock run` with these words; it is killed at the end, unless it has ended."""
    running: list[Process] = []
    environment = {**client_environment(settings), "PYTHONPATH": str(Path(__file__).parent)}

    def run(*words: object) -> Process:
        command = [sys.executable, "-m", "penstock", "run", *map(str, words)]
        with (tmp_path / "log").open("ab") as log:
            running.append(subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.faults
def test_one_that_raises_exits_or_returns_nonsense_costs_one_event_at_most(
    steps: str, start: Callable[..., Process], tmp_path: Path
) -> None:
    failing = [Case(steps, tmp_path, how) for how in ("raises", "recurses", "calls sys.exit")]
    answering = Case(steps, tmp_path, "returns nonsense")
    process = start(*(case.file for case in (*failing, answering)))
    for case in failing:
        wait_until(lambda case=case: case.done() == [0, 1, 3, 4, 5], f"{case.name}: the others are done")  # type: ignore[misc] - mypy cannot infer a lambda with a default
        (line,) = case.failed()
        assert (line["event"]["number"], line["error"]["code"]) == (2, "action.raised")
    wait_until(lambda: answering.done() == ALL, "nonsense is taken for done")
    assert answering.failed() == []
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert "nonsense" in (tmp_path / "log").read_text(), "and a warning says so"


@pytest.mark.faults
def test_one_that_hangs_holds_back_its_offset_turns_health_red_and_is_tried_again(
    steps: str, start: Callable[..., Process], tmp_path: Path
) -> None:
    once = {"once": str(tmp_path / "hung")}
    case = Case(steps, tmp_path, "hangs", config=once, concurrency=4, stuck_after=1)
    port = free_port_settings().console
    process = start(case.file, "--metrics-port", port)
    wait_until(lambda: sorted(case.done()) == [0, 1, 3, 4, 5], "other keys go on")
    wait_until(lambda: _health(port) == 503, "health is red")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, "an end does not wait for ever"
    start(case.file)
    wait_until(lambda: set(case.done()) == set(ALL), "the event that hung is read again")


@pytest.mark.faults
def test_one_that_ends_the_process_loses_nothing(steps: str, start: Callable[..., Process], tmp_path: Path) -> None:
    case = Case(steps, tmp_path, "ends the process", config={"once": str(tmp_path / "ended")})
    assert start(case.file).wait(60) == 3
    assert case.done() == [0, 1]
    start(case.file)
    wait_until(lambda: case.done() == ALL, "the next process begins with the event that ended the first")


@pytest.mark.faults
def test_one_that_leaks_threads_does_not_keep_the_process_from_ending(
    steps: str, start: Callable[..., Process], tmp_path: Path
) -> None:
    case = Case(steps, tmp_path, "leaks a thread")
    process = start(case.file)
    wait_until(lambda: case.done() == ALL, "all is done")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def _health(port: int) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code
    except httpx.TransportError:
        return 0
