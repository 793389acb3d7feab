"""The driver of a pipeline is killed with -9 again and again while events flow: each is in both tables once, and in
the Avro topic at least once, with its origin.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import duckdb
import pytest
import yaml
from confluent_kafka import Producer as BareProducer
from deltalake import DeltaTable

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.kafka.consumer import Consumer
from penstock.kafka.options import client_options
from penstock.kafka.topics import ensure_topic
from tests.lake_queries import read_delta, read_parquet
from tests.spark_fixtures import QUICK_START

FULL_KILLS, SHORT_KILLS = 20, 2
PAUSE = 0.01
SECONDS_TO_START = 600


def pipeline(topic: str) -> dict[str, object]:
    """One source into both kinds of tables and an Avro topic."""
    config = {"topic": topic, "format": "json", "schema": "id BIGINT NOT NULL, kind STRING"}
    tables = [
        {"type": "lake", "config": {"table": kind, "format": kind, "partition_by": ["kind"]}, "trigger": "0 seconds"}
        for kind in ("parquet", "delta")
    ]
    avro = {"type": "kafka", "config": {"topic": f"{topic}-avro", "format": "avro", "key": "id"}}
    source = {"type": "kafka", "config": config}
    return {"name": topic, "source": source, "sinks": [*tables, avro], "spark": {"conf": QUICK_START}}


class Flow:
    """Sends numbered events, about a hundred a second, until it is told to end."""

    def __init__(self, settings: Settings, topic: str) -> None:
        self.sent = 0
        self._ended = threading.Event()
        self._topic = topic
        self._producer = BareProducer(client_options(settings))
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _send(self) -> None:
        while not self._ended.wait(PAUSE):
            event = {"id": self.sent, "kind": "even" if self.sent % 2 == 0 else "odd"}
            self._producer.produce(self._topic, json.dumps(event).encode())
            self._producer.poll(0)
            self.sent += 1


@contextmanager
def driver(directory: Path, settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """`penstock run` in a group of processes of its own; what is left of it is killed at the end."""
    command = [sys.executable, "-m", "penstock", "run", "pipeline.yaml"]
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=directory, env=client_environment(settings), stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], directory: Path) -> None:
    give_up = time.monotonic() + SECONDS_TO_START
    while not done():
        assert process.poll() is None, (directory / "log").read_text()
        assert time.monotonic() < give_up, (directory / "log").read_text()
        time.sleep(0.3)


def rows(directory: Path, kind: str) -> int:
    """How many rows a table has while it is written to."""
    path = directory / "lake" / kind
    if kind == "delta":
        return DeltaTable(str(path)).count() if DeltaTable.is_deltatable(str(path)) else 0
    if not list(path.glob("**/*.parquet")):
        return 0
    with duckdb.connect() as database:
        counted = database.execute("SELECT count(*) FROM read_parquet(?)", [f"{path}/**/*.parquet"])
        return int(counted.fetchall()[0][0])


@pytest.mark.faults
@pytest.mark.timeout(3600)
def test_each_event_is_in_the_tables_once_however_often_the_driver_dies(
    settings: Settings, tmp_path: Path, rounds: int, tell: Callable[[str], None]
) -> None:
    topic = f"kills-{uuid.uuid4().hex[:8]}"
    kills = FULL_KILLS * rounds or SHORT_KILLS
    ensure_topic(settings, topic, 2)
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline(topic)))
    with Flow(settings, topic) as flow:
        for number in range(kills):
            kind = ("parquet", "delta")[number % 2]
            before = rows(tmp_path, kind)
            with driver(tmp_path, settings) as process:
                wait_until(lambda kind=kind, before=before: rows(tmp_path, kind) > before, process, tmp_path)
                time.sleep(random.uniform(0, 1.5))  # noqa: S311 - any moment will do
                kill(process, with_java=number % 2 == 1)
    with driver(tmp_path, settings) as process:
        for kind in ("parquet", "delta"):
            wait_until(lambda kind=kind: rows(tmp_path, kind) >= flow.sent, process, tmp_path)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
    tables = {"Parquet": read_parquet(f"{tmp_path}/lake/parquet"), "Delta": read_delta(f"{tmp_path}/lake/delta")}
    told = {name: Counter(row["id"] for row in found) for name, found in tables.items()}
    topic_ids = in_topic(settings, topic)
    repeated = sum(topic_ids.values()) - len(topic_ids)
    tell(
        f"killed the driver {kills} times over {flow.sent:,} events: "
        + ", ".join(
            f"{name} has {len(found):,}, {sum(found.values()) - len(found)} twice" for name, found in told.items()
        )
        + f"; the Avro topic has {len(topic_ids):,}, {repeated} repeated"
    )
    for found in told.values():
        assert found == Counter(range(flow.sent))
    assert topic_ids.keys() == set(range(flow.sent))


def kill(process: subprocess.Popen[bytes], *, with_java: bool) -> None:
    """Kill Python alone, whose Java then goes on for a moment, or both."""
    if with_java:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def in_topic(settings: Settings, topic: str) -> Counter[int]:
    """The ids in the Avro topic; each record has to name the place of its event."""
    found: Counter[int] = Counter()
    origins: dict[str, int] = {}
    with Consumer(f"{topic}-avro", start="earliest", timeout=5, settings=settings) as consumer:
        for record in consumer:
            origin = dict(record.headers)["penstock.origin"] or b""
            assert re.fullmatch(rf"{re.escape(topic)}/[01]/\d+", origin.decode())
            assert origins.setdefault(origin.decode(), record.value["id"]) == record.value["id"]
            found[record.value["id"]] += 1
    return found
