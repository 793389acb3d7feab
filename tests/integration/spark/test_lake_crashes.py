"""A driver dies between any two steps of a batch; the next one leaves each event in the table once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, LakeFormat, events, finished, parquet_files
from tests.steps import Crash, Steps, count_steps

MOST_STEPS = 40
LEAST_STEPS = {"parquet": 11, "delta": 6}


def crash(lake: Lake, at: int) -> list[str]:
    """Run a driver that dies at a step; the steps that it took."""
    steps = Steps(at)
    with pytest.MonkeyPatch.context() as patch:
        count_steps(patch, steps)
        query = lake.query()
        try:
            query.start()
        except Crash:
            return steps.taken
        finished(query)
    return steps.taken


@pytest.mark.timeout(400)
def test_a_crash_between_any_two_steps_leaves_each_event_once(
    lake: Lake, lake_format: LakeFormat, create_topic: CreateTopic, fill: Fill
) -> None:
    """Each driver finds what the one before left behind, and dies a step later than that one."""
    create_topic(1)
    for step in range(1, MOST_STEPS):
        fill(lake.topic, [*events(range(2 * step, 2 * step + 2)), b"refused"])
        taken = crash(lake, step)
        found = lake.ids()
        assert len(found) == len(set(found)), taken
        assert_nothing_else_is_seen(lake)
        if len(taken) < step:
            break
    assert len(taken) >= LEAST_STEPS[lake_format]
    assert found == list(range(2, 2 * step + 2))


def test_events_that_came_after_the_crash_are_not_mistaken_for_those_before(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    """The position is not noted, but the table has the events: the batch that comes again has more in it."""
    create_topic(2)
    fill(lake.topic, [*events(range(10)), b"refused"])
    last = len(crash(lake.but(state=f"{lake.state}/count", table="count", pipeline="count"), 0))
    assert crash(lake, last)[-1].startswith("write")
    fill(lake.topic, events(range(10, 20)))
    lake.run()
    assert lake.ids() == list(range(20))


def assert_nothing_else_is_seen(lake: Lake) -> None:
    """No file of staging, of Spark's own or of ours stands where a reader looks."""
    names = {path.name for path in Path(lake.path).rglob("*") if path.is_file() and "_delta_log" not in path.parts}
    assert all(name.endswith(".parquet") for name in names)
    assert not [path for path in parquet_files(lake.path) if "_temporary" in path.parts]
    assert not list(Path(lake.location).rglob("_spark_metadata"))
