from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import psutil
import pytest
import yaml

from penstock import Consumer
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.local.ports import free_ports
from tests.conftest import RunCommand
from tests.running_pipeline import committed

ACTION = """
import os, time

class Notes:
    '''Notes the number of each event in a file, after a while.'''

    def __init__(self, file, seconds, hang):
        self.file, self.seconds, self.hang = file, seconds, hang

    @classmethod
    def create(cls, config, ctx):
        return cls(config["file"], config.get("seconds", 0), config.get("hang"))

    def act(self, event):
        self.note(f"begun {event.event.version}")
        time.sleep(3600 if event.event.version == self.hang else self.seconds)
        self.note(f"done {event.event.version}")

    def note(self, line):
        handle = os.open(self.file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(handle, f"{line} {os.getpid()}\\n".encode())
        os.close(handle)

    def close(self):
        self.note("closed -1")
"""

LEAKS = """
import threading

class Leaks(Notes):
    def act(self, event):
        threading.Thread(target=time.sleep, args=(3600,)).start()
        raise ValueError("no")
"""


class Project:
    """A directory with an action of its own, and files of pipelines."""

    def __init__(self, home: Path, settings: Settings, topic: str) -> None:
        self.home, self.settings, self.topic = home, settings, topic
        self.notes = home / "notes"
        (home / f"notes_{home.name}.py").write_text(ACTION)

    def file(self, name: str = "", *, source: Any = None, options: Any = None, **config: Any) -> Path:
        """Write a pipeline's file."""
        content = {
            "name": name or self.topic,
            "source": {
                "type": "kafka",
                "config": {"topic_routes": {"pe": self.topic}, "start": "earliest", **(source or {})},
            },
            "action": {
                "type": f"notes_{self.home.name}:Notes",
                "config": {"file": str(self.notes), **config},
            },
            "options": {"failed_events_dir": str(self.home / "failed"), **(options or {})},
        }
        path = self.home / f"{name or 'action'}.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    @contextmanager
    def running(self, *words: object) -> Iterator[subprocess.Popen[str]]:
        """`penstock run` in a process of its own."""
        command = [sys.executable, "-m", "penstock", "run", *map(str, words)]
        environment = {**os.environ, **client_environment(self.settings)}
        with subprocess.Popen(command, cwd=self.home, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def noted(self, kind: str) -> list[int]:
        """The numbers of events that were begun or done."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(kind)]

    def pids(self) -> set[int]:
        """The processes that worked on events."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return {int(line.split()[2]) for line in lines}


def wait_until(condition: Callable[[], object], seconds: float = 40.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.fixture
def project(tmp_path: Path, settings: Settings, topic: str, create_topic: Any) -> Project:
    create_topic(partitions=2)
    return Project(tmp_path, settings, topic)


def test_a_file_of_datahub_s_page_prints_its_events(  # noqa: PLR0917 - fixtures
    topic: str, create_topic: Any, send_events: Any, run_command: RunCommand, tmp_path: Path, settings: Settings
) -> None:
    create_topic()
    send_events([1, 2])
    path = tmp_path / "hello.yaml"
    path.write_text(
        dedent(f"""
        name: "{topic}"
        source:
          type: "kafka"
          config:
            connection:
              bootstrap: ${{PENSTOCK_BOOTSTRAP:-localhost:9092}}
              schema_registry_url: ${{PENSTOCK_REGISTRY:-http://localhost:8081}}
              consumer_config:
                auto.offset.reset: earliest
            topic_routes:
              pe: {topic}
        filter:
          event_type: "EntityChangeEvent_v1"
          event:
            category: TAG
        action:
          type: "hello_world"
        """)
    )
    ran = run_command("run", path, "--max", 2)
    assert ran.code == 0
    printed = [json.loads(line) for line in ran.lines if line.startswith("{")]
    assert [event["event"]["version"] for event in printed] == [1, 2]
    assert "2 events, 0 filtered, 2 done" in ran.err
    assert committed(settings, topic, topic) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_is_in_work_commits_and_ends_with_0(
    project: Project, send_events: Any, number: int
) -> None:
    send_events(range(20), key=lambda _number: "same")
    with project.running(project.file(seconds=0.5, options={"concurrency": 2})) as process:
        wait_until(lambda: len(project.noted("begun")) == 3)
        process.send_signal(number)
        assert process.wait(20) == 0
    assert project.noted("begun") == project.noted("done")
    assert project.noted("closed") == [-1]
    done = len(project.noted("done"))
    offsets = [committed(project.settings, project.topic, project.topic, partition) or 0 for partition in (0, 1)]
    assert sum(offsets) == done < 20


def test_an_action_that_hangs_turns_health_red_and_does_not_hold_up_the_end(project: Project, send_events: Any) -> None:
    send_events(range(5), key=lambda _number: "same")
    (port,) = free_ports(1)
    options = {"shutdown_timeout": 1, "stuck_after": 0.5}
    with project.running(project.file(hang=3, options=options), "--metrics-port", port) as process:
        wait_until(lambda: project.noted("begun")[-1:] == [3])
        wait_until(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 503)
        told = httpx.get(f"http://127.0.0.1:{port}/healthz").json()["troubles"]
        assert "/3 is in work for" in told[f"{project.topic}.0"]
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert "given up" in process.stderr.read()
    offsets = [committed(project.settings, project.topic, project.topic, partition) or 0 for partition in (0, 1)]
    assert sum(offsets) == 3


def test_throw_ends_the_process_with_1_and_the_event_s_origin(
    project: Project, run_command: RunCommand, fill: Any
) -> None:
    fill(project.topic, [b"garbage"], partition=1)
    ran = run_command("run", project.file(options={"failure_mode": "THROW"}))
    assert ran.code == 1
    assert f"action.failed {project.topic}/1/0" in ran.err


def test_workers_share_the_partitions_and_one_that_is_killed_is_replaced(project: Project, send_events: Any) -> None:
    sent = itertools.count()

    def send_until(condition: Callable[[], object]) -> None:
        def send_and_look() -> object:
            for partition in (0, 1):
                send_events([next(sent)], partition=partition)
            return condition()

        wait_until(send_and_look, 60)

    with project.running(project.file(options={"workers": 2})) as process:
        send_until(lambda: len(project.pids()) == 2)
        victim = min(project.pids())
        os.kill(victim, signal.SIGKILL)
        send_until(lambda: len(project.pids()) == 3)
        last = next(sent)
        wait_until(lambda: set(project.noted("done")) == set(range(last)))
        process.terminate()
        assert process.wait(30) == 0


def test_the_lines_of_the_action_log_are_seen_of_workers_too(project: Project, send_events: Any) -> None:
    path = project.file(options={"workers": 2})
    content = yaml.safe_load(path.read_text())
    content["action"] = {"type": "log", "config": {"message": "version {{ version }}"}}
    path.write_text(yaml.safe_dump(content))
    send_events([7], partition=0)
    send_events([8], partition=1)
    with project.running(path) as process:
        wait_until(
            lambda: sum(committed(project.settings, project.topic, project.topic, each) or 0 for each in (0, 1)) == 2
        )
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr is not None
        told = process.stderr.read().splitlines()
    assert {"info version 7", "info version 8"} <= set(told)


def test_throw_ends_all_workers_though_their_action_left_a_thread_behind(project: Project, send_events: Any) -> None:
    send_events([1], partition=0)
    module = next(project.home.glob("notes_*.py"))
    module.write_text(ACTION + LEAKS)
    path = project.file(options={"workers": 2, "failure_mode": "THROW"})
    path.write_text(path.read_text().replace(":Notes", ":Leaks"))
    with project.running(path) as process:
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert f"action.failed {project.topic}/0/0: ValueError: no" in process.stderr.read()


def test_workers_end_with_their_parent(project: Project, send_events: Any) -> None:
    send_events([1])
    with project.running(project.file(options={"workers": 2})) as process:
        wait_until(lambda: project.noted("done"))
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        _, alive = psutil.wait_procs(children, timeout=20)
        assert alive == []


def test_a_dry_run_shows_what_would_be_done_and_commits_nothing(
    project: Project, send_events: Any, fill: Any, run_command: RunCommand
) -> None:
    send_events(range(3), partition=0)
    fill(project.topic, [b"garbage"], partition=1)
    ran = run_command("run", project.file(), "--dry-run", "--max", 10)
    assert ran.code == 0
    assert len([line for line in ran.lines if "would get" in line]) == 3
    assert len([line for line in ran.lines if "would fail: record.undecodable" in line]) == 1
    assert not project.notes.exists()
    assert committed(project.settings, project.topic, project.topic) is None


def test_failed_events_are_run_again_from_their_file(
    project: Project, send_events: Any, run_command: RunCommand, tmp_path: Path
) -> None:
    send_events([5, 6], partition=0)
    broken = project.file(source={"commit": "sync"})
    broken.write_text(broken.read_text().replace(":Notes", ":Missing"))
    module = next(tmp_path.glob("notes_*.py"))
    module.write_text(ACTION + "\nclass Missing(Notes):\n    def act(self, event):\n        raise ValueError('no')\n")
    assert run_command("run", broken, "--max", 2).code == 0
    (log,) = (tmp_path / "failed").rglob("failed_events.log")
    assert not project.noted("done")
    ran = run_command("run", project.file(), "--events", log)
    assert (ran.code, project.noted("done")) == (0, [5, 6])


def test_one_bad_file_does_not_stop_the_others_unless_it_is_the_only_one(
    project: Project, send_events: Any, run_command: RunCommand, tmp_path: Path
) -> None:
    send_events([1], partition=0)
    good, bad, off = project.file(), tmp_path / "bad.yaml", tmp_path / "off.yaml"
    bad.write_text("name: bad\naction: {type: hello_wrld}\n")
    off.write_text("enabled: false\naction: {type: '${NOT_SET}'}\n")
    ran = run_command("run", bad, good, off, tmp_path / "absent.yaml", "--max", 1)
    assert (ran.code, project.noted("done")) == (0, [1])
    assert "bad.yaml:2" in ran.err
    assert "did you mean hello_world?" in ran.err
    assert "absent.yaml" in ran.err
    assert "off.yaml says enabled: false" in ran.err
    assert run_command("run", bad).code == 2
    assert run_command("run", off).code == 0


def test_heartbeats_tell_how_a_pipeline_is(project: Project, send_events: Any, settings: Settings) -> None:
    send_events(range(4))
    with project.running(project.file()) as process:
        wait_until(lambda: len(project.noted("done")) == 4)
        process.terminate()
        process.wait(20)
    with Consumer("penstock.heartbeats", settings=settings, legacy="json", key_type="string", timeout=2) as beats:
        told = [beat.value for beat in beats if str(beat.key).startswith(f"{project.topic}@")]
    assert (told[-1]["stage"], told[-1]["done"], told[-1]["kind"]) == ("stopped", 4, "action")
