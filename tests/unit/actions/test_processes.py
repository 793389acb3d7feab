"""Workers that die or fail, in processes of their own; their pipelines never come as far as Kafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from penstock.actions.processes import PipelineProcesses
from penstock.actions.runner import Runner
from penstock.actions.spec import PipelineSpec
from penstock.actions.vitals import Vitals
from penstock.cli.run_actions import in_worker
from penstock.config import Settings
from penstock.errors import PenstockError

ACTIONS = """
import os, threading, time

class Base:
    def act(self, event): ...

class Crashing(Base):
    @classmethod
    def create(cls, config, ctx):
        os._exit(3)

class Leaking(Base):
    @classmethod
    def create(cls, config, ctx):
        threading.Thread(target=time.sleep, args=(3600,)).start()
        raise ValueError("no")
"""


@pytest.fixture
def spec_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], PipelineSpec]:
    (tmp_path / "misbehaving.py").write_text(ACTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(action: str) -> PipelineSpec:
        options = {"workers": 2, "shutdown_timeout": 1, "failure_mode": "THROW"}
        given = {"name": "p", "action": {"type": f"misbehaving:{action}"}, "options": options}
        return PipelineSpec.model_validate(given)

    return make


@contextmanager
def started(spec: PipelineSpec) -> Iterator[PipelineProcesses]:
    processes = PipelineProcesses(spec, Settings(), in_worker)
    processes.start()
    try:
        yield processes
    finally:
        processes.stop()
        processes.end()


def test_a_worker_that_dies_is_told_of_and_is_trouble_until_it_is_back(
    spec_of: Callable[[str], PipelineSpec], caplog: pytest.LogCaptureFixture
) -> None:
    with started(spec_of("Crashing")) as processes, caplog.at_level(logging.ERROR):
        assert [(each.worker, each.stage, each.trouble) for each in processes.vitals()] == [
            (0, "starting", None),
            (1, "starting", None),
        ]
        give_up = time.monotonic() + 30
        while not all(each.stage == "failed" for each in processes.vitals()):
            processes.join(0)
            assert time.monotonic() < give_up
            time.sleep(0.05)
        told = "worker 1 ended with exit code 3, and is started again after 1 s"
        assert processes.vitals()[1].trouble == f"dead: {told}"
        assert f"pipeline p: {told}" in caplog.messages
        assert processes.failure is None


def test_a_worker_that_fails_ends_them_all_though_its_action_left_a_thread_behind(
    spec_of: Callable[[str], PipelineSpec],
) -> None:
    with started(spec_of("Leaking")) as processes:
        give_up = time.monotonic() + 30
        while not processes.join(0):
            assert time.monotonic() < give_up
            time.sleep(0.05)
        assert "cannot be made: ValueError: no" in str(processes.failure)


class Charge:
    """Ends after it was looked after so many times."""

    name, settings = "charge", Settings()
    failure: PenstockError | None = None

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def end(self) -> None: ...

    def join(self, timeout: float) -> bool:
        del timeout
        self.looks -= 1
        return self.looks <= 0

    def vitals(self) -> list[Vitals]:
        return []


def test_every_charge_is_looked_after_while_another_one_runs() -> None:
    slow, quick = Charge(3), Charge(1)
    Runner([slow, quick]).run(Event())
    assert (slow.looks, quick.looks) == (0, -2)
