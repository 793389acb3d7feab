"""Tables that appear while a driver runs, and what the catalog is told of their columns."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer as BareProducer
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import ConfigError
from penstock.kafka.consumer import Consumer
from penstock.kafka.options import client_options
from penstock.pipelines import change_chores, discovery
from penstock.pipelines.chores import doing
from tests.pipeline_files import PipelineFiles, lake_sink

CAPTURED = Path(__file__).parents[2] / "fixtures" / "debezium" / "json_precise.json"


def change(without: str | None = None) -> tuple[bytes, bytes]:
    """A real change of a table, which may lack a column: its key and its value."""
    data = json.loads(CAPTURED.read_text(encoding="utf-8"))
    inserted = next(each for each in data["changes"] if each["key"] == {"id": 5})
    for image in (field for field in data["value_schema"]["fields"] if field["field"] in {"before", "after"}):
        image["fields"] = [column for column in image["fields"] if column["field"] != without]
    return _wrapped(data["key_schema"], inserted["key"]), _wrapped(data["value_schema"], inserted["value"])


def _wrapped(schema: object, payload: object) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def send(settings: Settings, topic: str, **how: Any) -> None:
    producer = BareProducer(client_options(settings))
    key, value = change(**how)
    producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def wait_for(condition: Callable[[], bool], seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.timeout(600)
def test_a_table_that_appears_is_taken_in_and_its_columns_are_told(
    spark: SparkSession, settings: Settings, tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_LOOK_SECONDS", 1.0)
    monkeypatch.setattr(change_chores, "_LOOK_SECONDS", 0.5)
    pipelines, told = PipelineFiles(spark, settings, tmp_path), f"{topic}-told"
    send(settings, f"{topic}.public.first")
    protect = {"hash": ["*.num"], "drop": ["first.nums"], "secret": "a secret of the tests"}
    config = {"pattern": f"{topic}\\.public\\.", "format": "debezium", "protect": protect}
    source = {"type": "kafka", "config": config}
    sink = {**lake_sink("{table}", mode="log"), "trigger": "1 second"}
    file = pipelines.write(topic, source=source, sinks=[sink], options={"schema_events": told})
    with pytest.raises(ConfigError, match=r"table public\.first has no column nums"):
        pipelines.driver(file).check()

    def is_there(table: str) -> bool:
        path = str(pipelines.lake / table)
        return DeltaTable.is_deltatable(path) and DeltaTable(path).count() > 0

    with pipelines.running(file), doing(pipelines.driver(file).chores()):
        wait_for(lambda: is_there("first"))
        send(settings, f"{topic}.public.second")
        wait_for(lambda: is_there("second"))
        send(settings, f"{topic}.public.second", without="num102")
        events = read_until(settings, told, 3)
    [(hashed,)] = spark.read.format("delta").load(str(pipelines.lake / "first")).select("num").collect()
    assert re.fullmatch("[0-9a-f]{64}", hashed)
    names = [{each["fieldPath"] for each in event["schema"]["fieldSchema"]} for event in events]
    assert [event["urn"].split(",")[1] for event in events] == [
        f"{topic}.public.{name}" for name in ("first", "second", "second")
    ]
    assert names[1] - names[2] == {"num102"}


def read_until(settings: Settings, topic: str, count: int) -> list[dict[str, Any]]:
    """So many events, by the times of the changes that they are about."""
    wait_for(lambda: len(_events(settings, topic)) >= count)
    return sorted(_events(settings, topic), key=lambda event: event["auditHeader"]["time"])


def _events(settings: Settings, topic: str) -> list[dict[str, Any]]:
    with Consumer(f"^{topic}$", start="earliest", timeout=2, settings=settings) as consumer:
        return [record.value for record in consumer]
