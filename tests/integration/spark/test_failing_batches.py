"""A batch that always fails ends with its reason, or without the messages that make it fail."""

from __future__ import annotations

import threading
from unittest.mock import patch

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.errors import BatchFailed, UnknownFailure
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.queries import restarts
from penstock.spark.queries.runner import Runner
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, dead_letters, event, events


@pytest.fixture
def lake_format() -> str:
    """One format will do: it has no part in this."""
    return "parquet"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait between starts."""
    monkeypatch.setattr(restarts, "LONGEST_PAUSE", 0.01)


@pytest.mark.timeout(600)
def test_a_batch_that_fails_in_the_same_way_again_and_again_is_a_failed_query_with_its_reason(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, events(range(3)))
    runner = Runner([lake.query()])
    numbers = iter(range(1000))

    def fail(*_: object) -> None:
        raise UnknownFailure(f"writing a batch: File already exists: staging/{next(numbers)}")

    with patch.object(ParquetSink, "write", fail):
        (failure,) = runner.run(threading.Event()).values()
    assert isinstance(failure, BatchFailed)
    assert next(numbers) == restarts.MOST_REPEATS
    ((vitals, ends),) = runner.vitals()
    assert (vitals.stage, vitals.lag(ends)) == ("failed", 3)
    assert vitals.last_error
    assert (vitals.last_error.code, bool(vitals.last_error.hint)) == ("pipeline.batch_failed", True)
    assert lake.run().counts.read == 3, "the batch is read again once the cause is removed"


def with_uuid(rows: DataFrame) -> DataFrame:
    """Fail on values that are no UUIDs, with an error of Java's that Spark does not explain."""
    return rows.withColumn("uuid", F.expr("java_method('java.util.UUID', 'fromString', kind)"))


@pytest.mark.timeout(600)
def test_messages_that_make_a_batch_fail_for_an_unknown_reason_are_found_and_left_out(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, [event(1, "1-1-1-1-1"), event(2, "no uuid"), event(3, "3-3-3-3-3")])
    query = lake.but(transform=with_uuid).query()
    assert Runner([query]).run(threading.Event()) == {}
    assert not query.is_suspect, "a later batch that fails is not searched at once"
    assert lake.ids() == [1, 3]
    (letter,) = dead_letters(lake)
    assert "no uuid" in letter["penstock.error.message"]
