"""Spark for the benchmarks: one session, a topic full of events, and pipelines that run over all of it."""

from __future__ import annotations

import json
import os
import random
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from _common import Message, send
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.config.yaml_file import read_yaml
from penstock.local.jars import JarCache
from penstock.local.java import spark_java_home
from penstock.pipelines.driver import open_driver
from penstock.pipelines.pipeline import read_pipelines
from penstock.spark.queries.runner import Runner
from penstock.spark.session import start_session

EVENT_SCHEMA = Path(__file__).parent.parent / "src" / "penstock" / "events" / "event.avsc"
TO_DATE = "SELECT *, substring(Server_Time, 1, 10) AS Server_Date FROM source"

Spec = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """A session, the systems it talks to, and a directory for its tables and files."""

    session: SparkSession
    settings: Settings
    directory: Path
    java_home: Path
    jars: list[Path]

    @contextmanager
    def runner(self, spec: Spec) -> Iterator[Runner]:
        """What runs the pipeline of a file, in this session."""
        file = self.directory / f"{spec['name']}.yaml"
        file.write_text(yaml.safe_dump(spec))
        pipelines = read_pipelines([read_yaml(file, os.environ)])
        with open_driver(pipelines, self.settings, java_home=self.java_home, jars=self.jars) as driver:
            yield driver.runner()

    def run(self, spec: Spec) -> None:
        """Run a pipeline until it has read all that is there."""
        with self.runner(spec) as runner:
            for error in runner.run(threading.Event()).values():
                raise error


@contextmanager
def spark_bench(settings: Settings, *parts: str) -> Iterator[Bench]:
    """A session like that of `penstock run`, with these parts' jars too, and a directory that goes away with it."""
    cache, wanted = JarCache.from_settings(settings), ("spark", *parts)
    cache.fetch(wanted)
    jars = [jar for part in wanted for jar in cache.classpath(part)]
    java_home = spark_java_home(settings.cache / "spark-java")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        own = settings.model_copy(update={"lake": f"{directory}/lake"})
        session = start_session("bench", java_home=java_home, jars=jars)
        try:
            yield Bench(session, own, Path(directory), java_home, jars)
        finally:
            session.stop()


def pipeline(settings: Settings, topic: str, *sinks: Spec, **source: object) -> Spec:
    """The example's pipeline, with sinks of one's own, under a new name."""
    connection = {"bootstrap": settings.bootstrap, "schema_registry_url": settings.registry}
    config = {"connection": connection, "topic": topic, "format": "json", "schema": str(EVENT_SCHEMA), **source}
    return {
        "name": f"bench-{uuid.uuid4().hex[:8]}",
        "source": {"type": "kafka", "config": config},
        "transform": [{"type": "sql", "config": {"query": TO_DATE}}],
        "sinks": list(sinks),
    }


def to_avro(topic: str, trigger: str) -> Spec:
    """The sink that writes Avro to a topic."""
    return {"type": "kafka", "config": {"topic": topic, "format": "avro", "key": "User_ID"}, "trigger": trigger}


def to_lake(table: str, trigger: str) -> Spec:
    """The sink that writes Parquet by type and day."""
    config = {"table": table, "format": "parquet", "partition_by": ["Event_Type", "Server_Date"]}
    return {"type": "lake", "config": config, "trigger": trigger}


def fill(settings: Settings, topic: str, count: int) -> None:
    """Put so many events of a week into a topic."""
    texts = [json.dumps(event).encode() for event in _events(20_000)]
    send(settings, topic, (Message(None, texts[number % len(texts)]) for number in range(count)))


def _events(count: int) -> Iterator[dict[str, str]]:
    dice = random.Random(1)
    for _ in range(count):
        yield {
            "Event_Type": dice.choice(["ListingView", "Click", "Search", "Purchase", "Message"]),
            "Event_Version": "1",
            "User_ID": f"user-{dice.randrange(10**6):06}",
            "Listing_ID": f"listing-{dice.randrange(10**6):06}",
            "Server_Time": f"2026-01-{dice.randrange(1, 8):02}T12:00:00.{dice.randrange(1000):03}Z",
            "Device_Type": dice.choice(["ios", "android", "web"]),
        }
