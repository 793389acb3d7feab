"""Events from a file in the place of Kafka, gone through by a whole pipeline."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from penstock.actions.assembly import Mode
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope
from tests.action_context import event
from tests.running_pipeline import RunningPipeline

BATCH = 500


def file_of(directory: Path, count: int) -> Path:
    path = directory / "events.log"
    path.write_text("".join(event({"n": n}, "thing").as_json() + "\n" for n in range(count)))
    return path


@pytest.mark.parametrize("concurrency", [1, 3])
def test_every_event_is_done_however_long_that_takes_beyond_the_time_for_an_end(
    tmp_path: Path, concurrency: int
) -> None:
    seen: list[int] = []

    def act(found: EventEnvelope) -> None:
        time.sleep(0.05)
        seen.append(found.event.n)

    options = {"concurrency": concurrency, "shutdown_timeout": 0.1}
    with RunningPipeline("t", Settings(), act, mode=Mode(events=file_of(tmp_path, 30)), options=options) as run:
        assert run.ended() is None
        assert (sorted(seen), run.counts.done) == (list(range(30)), 30)


def test_a_failure_ends_the_run_before_all_events_are_done(tmp_path: Path) -> None:
    def act(found: EventEnvelope) -> None:
        time.sleep(0.05)
        if found.event.n == 3:
            raise ValueError("no")

    options = {"concurrency": 2, "failure_mode": "THROW"}
    with RunningPipeline("t", Settings(), act, mode=Mode(events=file_of(tmp_path, 100)), options=options) as run:
        assert "events.log/0/4: ValueError: no" in str(run.ended())
        assert run.counts.done < 20


def test_reading_stops_at_the_bytes_that_may_be_held_and_goes_on_when_some_are_done(tmp_path: Path) -> None:
    gate = threading.Event()

    def act(_event: EventEnvelope) -> None:
        gate.wait(30)

    options = {"concurrency": 2, "buffer_bytes": 1024, "shutdown_timeout": 1}
    with RunningPipeline("t", Settings(), act, mode=Mode(events=file_of(tmp_path, 1300)), options=options) as run:
        run.until(lambda: run.pipeline.tracker.held == BATCH)
        time.sleep(0.3)
        assert run.pipeline.tracker.held == BATCH
        gate.set()
        assert run.ended() is None
        assert run.counts.done == 1300
