"""What a query relies on is away for a while: it waits, starts again, and loses nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from penstock import Producer
from penstock.config import Settings
from penstock.schemas import connect_registry
from penstock.spark.avro.rows import AvroRows
from penstock.spark.queries.query import Query
from penstock.spark.queries.runner import Runner
from tests.conftest import Running
from tests.gate import Gate
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, events

FIELDS = [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}]
NEW_FIELD = {"name": "note", "type": ["null", "string"], "default": None}


@pytest.fixture
def lake_format() -> str:
    """One format will do: it has no part in this."""
    return "parquet"


@contextmanager
def running(query: Query) -> Iterator[Runner]:
    """A runner at work on a query."""
    runner, stop = Runner([query]), threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    try:
        yield runner
    finally:
        stop.set()
        thread.join()


def wait_until(done: Callable[[], bool], seconds: float = 240) -> None:
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def last_error(runner: Runner) -> str | None:
    (vitals, _), *_ = runner.vitals()
    return vitals.last_error.code if vitals.last_error else None


def send(settings: Settings, topic: str, numbers: range, fields: list[dict[str, object]]) -> None:
    schema = {"type": "record", "name": "Event", "fields": fields}
    with Producer(topic, schema, settings=settings) as producer:
        for number in numbers:
            producer.send({"id": number, "kind": "view"})


@pytest.mark.timeout(600)
def test_a_schema_that_is_new_while_the_registry_is_away_waits_for_it(
    lake: Lake, settings: Settings, create_topic: CreateTopic
) -> None:
    create_topic(1)
    send(settings, lake.topic, range(3), FIELDS)
    address = urlsplit(settings.registry)
    with Gate(address.port or 80) as gate:
        behind = settings.model_copy(update={"registry": f"http://localhost:{gate.port}", "timeout": 2.0})
        decoder = AvroRows(lake.spark, connect_registry(behind), subjects=[f"{lake.topic}-value"])
        query = lake.but(partition_by=("kind",), decoder=decoder).query("0 seconds")
        with running(query) as runner:
            wait_until(lambda: len(lake.rows()) == 3)
            gate.shut()
            send(settings, lake.topic, range(3, 6), [*FIELDS, NEW_FIELD])
            wait_until(lambda: last_error(runner) == "registry.unavailable")
            assert lake.ids() == [0, 1, 2]
            gate.open()
            wait_until(lambda: len(lake.rows()) == 6)
    assert lake.ids() == list(range(6))


@pytest.mark.timeout(600)
def test_a_broker_that_dies_and_comes_back_costs_time_only(
    lake: Lake, stack: Running, create_topic: CreateTopic, fill: Fill
) -> None:
    if stack.stack is None:
        pytest.skip("a stack given from outside is not killed")
    create_topic(1)
    fill(lake.topic, events(range(3)))
    with running(lake.query("0 seconds")):
        wait_until(lambda: len(lake.rows()) == 3)
        stack.kill("kafka")
        time.sleep(3)
        stack.restart("kafka")
        fill(lake.topic, events(range(3, 6)))
        wait_until(lambda: len(lake.rows()) >= 6)
    assert lake.ids() == list(range(6))
