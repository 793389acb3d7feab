"""When a pipeline counts as stuck or dead: a pipeline of a file's events, and one whose events are put off."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.actions.assembly import Mode
from penstock.actions.failed_events import FailedEvents
from penstock.actions.lasting import Lasting
from penstock.actions.pipeline import Pipeline
from penstock.actions.spec import PipelineSpec
from penstock.actions.unit import PipelineThread
from penstock.config import Settings
from penstock.errors import RecordUndecodable
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from tests.running_pipeline import RunningPipeline
from tests.unit.actions.test_events_of_a_file import file_of

TOPIC, PARTITION = TopicName("t"), Partition(0)

HANGING = """
import time

class Filter:
    @classmethod
    def create(cls, config, ctx):
        return cls()

    def matches(self, event):
        time.sleep(2)
        return True
"""


def record(offset: int, value: bytes = b"") -> ConsumerRecord:
    return ConsumerRecord(None, value, (), 1, TOPIC, PARTITION, Offset(offset), has_schema=False)


def trouble(running: RunningPipeline) -> str:
    return running.thread.vitals()[0].trouble or ""


def test_decoding_that_waits_for_the_registry_counts_as_work(tmp_path: Path) -> None:
    kept = FailedEvents("p", tmp_path, None, Settings())
    kept.write(record(0, b"\0\0\0\0\1x"), None, "t", RecordUndecodable("no"))
    away = Settings(registry="http://127.0.0.1:1", timeout=0.2)
    options = {"stuck_after": 0.5, "shutdown_timeout": 0.1}
    mode = Mode(events=kept.path)
    with RunningPipeline("t", away, print, mode=mode, options=options) as running:
        running.until(lambda: "stuck: failed_events.log/0/1 is in work for" in trouble(running), 10)


def test_a_filter_that_hangs_counts_as_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hanging_filter.py").write_text(HANGING)
    monkeypatch.syspath_prepend(str(tmp_path))
    filters = [{"type": "hanging_filter:Filter"}]
    options = {"stuck_after": 0.5, "shutdown_timeout": 0.1}
    mode = Mode(events=file_of(tmp_path, 1))
    with RunningPipeline("t", Settings(), print, mode=mode, filters=filters, options=options) as running:
        running.until(lambda: "stuck: events.log/0/1 is in work for" in trouble(running), 10)


def test_a_buffer_of_events_that_were_put_off_is_trouble_only_after_a_while_without_an_acknowledgement() -> None:
    given: dict[str, Any] = {"name": "p", "action": {"type": "log"}, "options": {"buffer": 2, "stuck_after": 0.2}}
    unit = PipelineThread(Pipeline(PipelineSpec.model_validate(given), Settings()))
    for offset in (0, 1):
        put_off(unit, offset)
    assert unit.vitals()[0].trouble is None
    time.sleep(0.25)
    assert unit.vitals()[0].trouble == "stuck: 2 events wait for their action to acknowledge them"
    assert unit.pipeline.tracker.acknowledge(record(0).origin)
    put_off(unit, 2)
    assert unit.vitals()[0].trouble is None


def put_off(unit: PipelineThread, offset: int) -> None:
    """An event comes, and its action returns False."""
    one = record(offset)
    window = unit.pipeline.tracker.receive([one])[0][1]
    assert unit.pipeline.tracker.begin(window, one)
    unit.pipeline.tally.received("e", 0)
    unit.pipeline.tracker.end(window, one, done=False)


def test_what_changes_or_goes_away_begins_anew() -> None:
    lasting = Lasting()
    assert lasting.seconds("a") == 0
    time.sleep(0.02)
    assert lasting.seconds("a") >= 0.02
    assert lasting.seconds("b") == 0
    assert lasting.seconds(None) == lasting.seconds("b") == 0
