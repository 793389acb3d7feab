"""A driver dies between any two steps of a batch; the next one leaves each event in the table once."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.schemas import connect_registry
from penstock.spark.avro.rows import AvroRows
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import (
    NEW_FIELD,
    Lake,
    LakeFormat,
    dead_letters,
    event,
    events,
    finished,
    parquet_files,
    send_avro,
)
from tests.steps import KEEP, Crash, Steps, count_steps

MOST_STEPS = 40
TOO_LONG = "x" * 300
"""A kind that can make no folder: a row with it fails its batch, and is found and left out."""

LEAST_STEPS = {"parquet": 11, "delta": 6}


def crash(lake: Lake, at: int = 0, before: str = "", nth: int = 1) -> list[str]:
    """Run a driver that dies at a step; the steps that it took."""
    steps = Steps(at, before, nth)
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
    """Each driver finds what the one before left behind, and dies a step later than that one.

    Every other driver takes smaller batches, so that a repeated batch ends inside of what has landed.
    """
    create_topic(1)
    fill(lake.topic, [event(0, TOO_LONG)])
    for step in range(1, MOST_STEPS):
        fill(lake.topic, [*events(range(2 * step, 2 * step + 2)), b"refused"])
        taken = crash(lake.but(max_records=2 if step % 2 else lake.max_records), step)
        found = lake.ids()
        assert len(found) == len(set(found)), taken
        assert_nothing_else_is_seen(lake)
        if len(taken) < step:
            break
    assert len(taken) >= LEAST_STEPS[lake_format]
    assert found == list(range(2, 2 * step + 2))
    assert refused(lake) == {f"{lake.topic}/0/{offset}" for offset in range(0, 3 * step + 1, 3)}


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_what_the_transform_failed_on_is_kept_before_the_rest_lands(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    """What has landed is not tried again, so after a crash nobody would find the message."""
    create_topic(1)
    fill(lake.topic, [*events(range(3)), event(3, TOO_LONG)])
    crash(lake, before=KEEP)
    assert lake.ids() == []
    lake.run()
    assert lake.ids() == [0, 1, 2]
    assert refused(lake) == {f"{lake.topic}/0/3"}


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_new_driver_learns_the_schemas_of_what_has_landed_to_find_what_was_refused(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    send_avro(lake, range(3))
    fill(lake.topic, [b"refused"])
    crash(avro(lake), before=KEEP)
    assert lake.ids() == [0, 1, 2]
    avro(lake).run()
    assert lake.ids() == [0, 1, 2]
    assert refused(lake) == {f"{lake.topic}/0/3"}


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_failing_message_is_found_among_landed_ones_of_a_schema_that_the_new_driver_has_not_seen(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    send_avro(lake, range(3))
    fill(lake.topic, [b"refused"])
    crash(avro(lake), before=KEEP)
    send_avro(lake, [3], NEW_FIELD)
    send_avro(lake, [4], NEW_FIELD, kind=TOO_LONG)
    avro(lake).run()
    assert lake.ids() == [0, 1, 2, 3]
    assert refused(lake) == {f"{lake.topic}/0/3", f"{lake.topic}/0/5"}


def crash_before_the_position_is_saved(lake: Lake) -> None:
    """Run a driver that dies once its first batch is in the table; a start saves the position twice before."""
    assert crash(lake, before=f"write {lake.state}/state.json", nth=3)[-1].startswith("write")


def test_a_smaller_batch_after_a_crash_does_not_set_the_table_back(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    """The second batch ends before what has landed, and so does the position that is saved after it."""
    create_topic(3)
    fill(lake.topic, events(range(30)))
    crash_before_the_position_is_saved(lake)
    assert lake.ids() == list(range(30))
    for size in (9, 6, 3):
        crash_before_the_position_is_saved(lake.but(max_records=size))
    fill(lake.topic, events(range(30, 33)))
    lake.run()
    assert lake.ids() == list(range(33))


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


def avro(lake: Lake) -> Lake:
    """The same lake filled from Avro, by a decoder that has seen no message yet."""
    decoder = AvroRows(lake.spark, connect_registry(lake.settings), subjects=[f"{lake.topic}-value"])
    return lake.but(partition_by=("kind",), decoder=decoder)


def refused(lake: Lake) -> set[str]:
    """Where the messages stood that are dead letters."""
    return {letter["penstock.origin"] for letter in dead_letters(lake)}


def assert_nothing_else_is_seen(lake: Lake) -> None:
    """No file of staging, of Spark's own or of ours stands where a reader looks."""
    names = {path.name for path in Path(lake.path).rglob("*") if path.is_file() and "_delta_log" not in path.parts}
    assert all(name.endswith(".parquet") for name in names)
    assert not [path for path in parquet_files(lake.path) if "_temporary" in path.parts]
    assert not list(Path(lake.location).rglob("_spark_metadata"))
