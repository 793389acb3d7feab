"""Pipelines for tests: written as files, run in the session of all tests over what their topics hold."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.config.yaml_file import read_yaml
from penstock.errors import PenstockError
from penstock.events.record import ConsumerRecord
from penstock.kafka.span import find_span, read_span
from penstock.pipelines.driver import Driver
from penstock.pipelines.pipeline import read_pipelines

EVENT_SCHEMA = Path(__file__).parents[1] / "examples" / "events" / "schemas" / "event.avsc"


class PipelineFiles:
    """A directory of pipeline files, and the lake beside them."""

    def __init__(self, spark: SparkSession, settings: Settings, directory: Path) -> None:
        self.directory = directory
        self.lake = directory / "lake"
        self.settings = settings.model_copy(update={"lake": str(self.lake)})
        self._spark = spark

    def write(self, name: str, **content: Any) -> Path:
        """Write a pipeline; its sinks run once unless they say otherwise."""
        sinks = [{"trigger": "available_now", **sink} for sink in content.pop("sinks")]
        path = self.directory / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"name": name, **content, "sinks": sinks}))
        return path

    def driver(self, *files: Path) -> Driver:
        """The files in one driver."""
        return Driver(self._spark, read_pipelines([read_yaml(file, {}) for file in files]), self.settings)

    def run(self, *files: Path) -> dict[str, PenstockError]:
        """Check and run files until all queries have ended; the failures that stay."""
        driver = self.driver(*files)
        driver.check()
        return driver.runner().run(threading.Event())

    @contextmanager
    def running(self, *files: Path) -> Iterator[None]:
        """Run files while the block runs, then stop between batches."""
        runner, stop = self.driver(*files).runner(), threading.Event()
        thread = threading.Thread(target=runner.run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def records(self, topic: str) -> list[ConsumerRecord]:
        """Everything in a topic, undecoded."""
        return list(read_span(self.settings, find_span(self.settings, [topic])))


def kafka_source(topic: str, **config: Any) -> dict[str, Any]:
    """A source that reads a topic."""
    return {"type": "kafka", "config": {"topic": topic, **config}}


def kafka_sink(topic: str, **config: Any) -> dict[str, Any]:
    """A sink that writes to a topic."""
    return {"type": "kafka", "config": {"topic": topic, **config}}


def lake_sink(table: str, **config: Any) -> dict[str, Any]:
    """A sink that writes to a table."""
    return {"type": "lake", "config": {"table": table, **config}}


def sql(query: str) -> dict[str, Any]:
    """A transform by SQL."""
    return {"type": "sql", "config": {"query": query}}


def event(number: int, **fields: Any) -> bytes:
    """A product event as an app sends it."""
    found = {
        "Event_Type": ("ListingView", "Click")[number % 2],
        "Event_Version": "1",
        "User_ID": f"u-{number}",
        "Listing_ID": None,
        "Server_Time": f"2026-03-0{number % 2 + 1}T10:00:00Z",
        **fields,
    }
    return json.dumps(found).encode()


def headers_of(record: ConsumerRecord) -> Mapping[str, str]:
    """A record's headers as text."""
    return {name: value.decode() for name, value in record.headers if value is not None}
