"""A sink that has a rest to do without Spark: the next batch is read meanwhile, and nothing counts as done before."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import DatabaseUnavailable, PenstockError, RecordInvalid
from penstock.events.record import Origin
from penstock.spark.hadoop_files import files_at
from penstock.spark.json.rows import JsonRows
from penstock.spark.json.shape import shape_of_ddl
from penstock.spark.kafka_source import KafkaSource
from penstock.spark.queries.batch import BatchPath
from penstock.spark.queries.position import Position
from penstock.spark.queries.query import Query, QuerySpec
from penstock.spark.queries.state import QueryState
from penstock.spark.sinks.sink import Batch, Rest
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, dead_letters, event, events, finished, last_error, running, wait_until


@pytest.fixture
def lake_format() -> str:
    """One format will do: it has no part in this."""
    return "parquet"


@dataclass
class Slow:
    """A sink whose rests wait for a gate, fail as often as told, and give one message back."""

    gate: threading.Event = field(default_factory=threading.Event)
    failures: int = 0
    untaken: int = -1
    formed: list[list[int]] = field(default_factory=list)
    safe: list[list[int]] = field(default_factory=list)

    def check(self, schema: T.StructType) -> None:
        """As the protocol says."""

    def landed(self) -> Position | None:
        """As the protocol says."""
        return None

    def form(self, rows: DataFrame) -> DataFrame:
        """As the protocol says."""
        return rows.select("id", "_kafka.topic", "_kafka.partition", "_kafka.offset")

    def write(self, formed: DataFrame, batch: Batch) -> Rest:  # noqa: ARG002 - all batches are alike
        """As the protocol says."""
        rows = [(row["id"], Origin(row["topic"], row["partition"], row["offset"])) for row in formed.collect()]
        self.formed.append(sorted(number for number, _ in rows))
        return partial(self._rest, dict(rows))

    def _rest(self, rows: dict[int, Origin]) -> Mapping[Origin, PenstockError]:
        self.gate.wait(60)
        if self.failures:
            self.failures -= 1
            raise DatabaseUnavailable("the database is away")
        self.safe.append(sorted(number for number in rows if number != self.untaken))
        return {rows[self.untaken]: RecordInvalid("not this one")} if self.untaken in rows else {}


def query_into(lake: Lake, sink: Slow, trigger: str | None = None) -> Query:
    """A query of small batches."""
    path = BatchPath(JsonRows(shape_of_ddl(lake.ddl)), lake.transform, sink, lake.dead_letters())
    source = KafkaSource(lake.settings, (lake.topic,), max_records=2)
    state = QueryState(files_at(lake.state, lake.spark), lake.state)
    return Query(lake.spark, QuerySpec(lake.pipeline, "slow", source, path, state, trigger))


@pytest.mark.timeout(300)
def test_the_next_batch_is_read_while_one_is_made_safe_and_the_position_waits(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, events(range(6)))
    sink = Slow()
    query = query_into(lake, sink)
    query.start()
    wait_until(lambda: len(sink.formed) == 2)
    assert (sink.safe, query.batches, list(query.position.offsets.values())) == ([], 0, [0])
    assert len(sink.formed) == 2
    sink.gate.set()
    assert finished(query) is None
    assert sink.safe == sink.formed == [[0, 1], [2, 3], [4, 5]]
    assert (query.batches, query.counts.read, list(query.position.offsets.values())) == (3, 6, [6])


@pytest.mark.timeout(300)
def test_a_rest_that_fails_while_no_message_comes_is_told_and_its_batch_comes_again(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, events(range(2)))
    sink = Slow(failures=1)
    sink.gate.set()
    query = query_into(lake, sink, "0 seconds")
    with running(query) as runner:
        wait_until(lambda: last_error(runner) == DatabaseUnavailable.code)
        wait_until(lambda: query.batches == 1)
    assert (sink.formed, sink.safe, query.counts.read) == ([[0, 1]] * 2, [[0, 1]], 2)


@pytest.mark.timeout(300)
def test_a_query_that_is_stopped_waits_for_the_rest_of_its_last_batch(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, events(range(2)))
    sink = Slow()
    query = query_into(lake, sink, "0 seconds")
    query.start()
    wait_until(lambda: len(sink.formed) == 1)
    threading.Timer(2, sink.gate.set).start()
    query.stop()
    assert (sink.safe, list(query.position.offsets.values()), query.is_active) == ([[0, 1]], [2], False)


@pytest.mark.timeout(300)
def test_what_a_rest_gives_back_is_a_dead_letter_beside_what_cannot_be_read(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, [event(0), b"no JSON", event(2), event(3)])
    sink = Slow(untaken=3)
    sink.gate.set()
    query = query_into(lake, sink)
    query.start()
    assert finished(query) is None
    assert (sink.safe, query.counts) == ([[0], [2]], (4, 2))
    letters = {letter["penstock.origin"].rpartition("/")[2]: letter for letter in dead_letters(lake)}
    assert sorted(letters) == ["1", "3"]
    assert letters["3"]["penstock.error.message"] == "not this one"
