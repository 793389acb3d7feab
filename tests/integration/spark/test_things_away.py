"""What a query relies on is away for a while: it waits, starts again, and loses nothing."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest

from penstock.config import Settings
from penstock.schemas import connect_registry
from penstock.spark.avro.rows import AvroRows
from tests.conftest import Running
from tests.gate import Gate
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import NEW_FIELD, Lake, events, last_error, running, send_avro, wait_until


@pytest.fixture
def lake_format() -> str:
    """One format will do: it has no part in this."""
    return "parquet"


@pytest.mark.timeout(600)
def test_a_schema_that_is_new_while_the_registry_is_away_waits_for_it(
    lake: Lake, settings: Settings, create_topic: CreateTopic
) -> None:
    create_topic(1)
    send_avro(lake, range(3))
    address = urlsplit(settings.registry)
    with Gate(address.port or 80) as gate:
        behind = settings.model_copy(update={"registry": f"http://localhost:{gate.port}", "timeout": 2.0})
        decoder = AvroRows(lake.spark, connect_registry(behind), subjects=[f"{lake.topic}-value"])
        query = lake.but(partition_by=("kind",), decoder=decoder).query("0 seconds")
        with running(query) as runner:
            wait_until(lambda: len(lake.rows()) == 3)
            gate.shut()
            send_avro(lake, range(3, 6), NEW_FIELD)
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
