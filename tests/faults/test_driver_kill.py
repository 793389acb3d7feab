"""The driver of two pipelines is killed with -9 again and again while events flow, often just after a batch landed.

It takes smaller or larger batches at each start. Each event is in every table once, on disk and in an object store, and
in the Avro topic at least once, with its origin.
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
import yaml
from confluent_kafka import Producer as BareProducer
from deltalake import DeltaTable
from pyarrow import dataset as ds

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.kafka.consumer import Consumer
from penstock.kafka.options import client_options
from penstock.kafka.topics import ensure_topic
from penstock.lake.store import open_store
from tests.lake_queries import read_delta, read_parquet
from tests.spark_fixtures import QUICK_START

FULL_KILLS, SHORT_KILLS = 20, 2
PARTITIONS = 3
SIZES = (3000, 400, 90)
"""How many messages a batch takes at most: a driver that was killed is followed by one with smaller batches."""

PAUSE = 0.01
SECONDS_TO_START = 600


class Tables:
    """The tables that the driver fills, on disk and in an object store."""

    def __init__(self, directory: Path, remote: Settings, buckets: Path) -> None:
        self.topic = f"kills-{uuid.uuid4().hex[:8]}"
        self.changes = f"{self.topic}-changes"
        self.remote = remote
        self._directory = directory
        self._lakes = {"disk": directory / "lake", "s3": buckets / remote.lake.removeprefix("s3a://")}

    def write_pipelines(self, max_records: int) -> list[str]:
        """Write the files of both pipelines for one start; return their names."""
        spark = {"master": "local[2]", "conf": {**QUICK_START, "spark.driver.memory": "1g"}}
        names = []
        for name, (source, sinks) in self._declared().items():
            config = {**source, "topic": name, "max_records": max_records}
            content = {"name": name, "source": {"type": "kafka", "config": config}, "sinks": sinks, "spark": spark}
            names.append(f"{name}.yaml")
            (self._directory / names[-1]).write_text(yaml.safe_dump(content))
        return names

    def _declared(self) -> dict[str, tuple[dict[str, str], list[dict[str, object]]]]:
        """Events into tables of both formats in both lakes and an Avro topic; changes into a log."""
        places: dict[str, dict[str, str]] = {"disk": {}, "s3": {"lake": self.remote.lake}}
        tables = [
            lake_sink(f"{lake}-{kind}", format=kind, partition_by=["kind"], **place)
            for lake, place in places.items()
            for kind in ("parquet", "delta")
        ]
        avro = {"type": "kafka", "config": {"topic": f"{self.topic}-avro", "format": "avro", "key": "id"}}
        return {
            self.topic: ({"format": "json", "schema": "id BIGINT NOT NULL, kind STRING"}, [*tables, avro]),
            self.changes: (
                {"format": "debezium", "schema": "id BIGINT, kind STRING"},
                [lake_sink("disk-log", mode="log")],
            ),
        }

    def newest(self, table: str) -> int:
        """The number of the newest ledger entry or commit of a table, 0 before the first."""
        lake = self._lakes[table.partition("-")[0]]
        logs = [lake / table / "_delta_log", *lake.glob(f"_penstock/{table}/queries/*/ledger")]
        found = (path.name[:20] for log in logs if log.is_dir() for path in log.iterdir())
        return max((int(name) + 1 for name in found if name.isdigit()), default=0)

    def done(self) -> list[int]:
        """How many messages each query is done with."""
        states = [json.loads(path.read_bytes()) for path in self._directory.rglob("state.json")]
        positions = [state["position"]["offsets"] for state in states if state["position"]]
        return [sum(offset for topic in found.values() for offset in topic.values()) for found in positions]

    def ids(self) -> dict[str, Counter[int]]:
        """How often each event is in each table."""
        disk, store = self._lakes["disk"], open_store(self.remote)
        remote = ds.dataset(store.full("s3-parquet"), filesystem=store.system).to_table(["id"])
        rows: dict[str, Iterable[dict[str, Any]]] = {
            "disk-parquet": read_parquet(f"{disk}/disk-parquet"),
            "disk-delta": read_delta(f"{disk}/disk-delta"),
            "disk-log": DeltaTable(f"{disk}/disk-log").to_pyarrow_dataset().to_table(["id"]).to_pylist(),
            "s3-parquet": remote.to_pylist(),
            "s3-delta": read_delta(f"{store.delta_uri}/s3-delta", dict(store.delta_options)),
        }
        return {name: Counter(row["id"] for row in found) for name, found in rows.items()}


class Flow:
    """Sends numbered events and changes, about a hundred of each a second, until it is told to end."""

    def __init__(self, settings: Settings, tables: Tables) -> None:
        self.sent = 0
        self._ended = threading.Event()
        self._tables = tables
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
            # Keys spread events unevenly, so that partitions share a batch by their lag.
            place = random.choice((0, 0, 0, 1, 1, 2))  # noqa: S311 - any will do
            self._producer.produce(self._tables.topic, json.dumps(event).encode(), partition=place)
            key, value = change(event, lsn=self.sent)
            self._producer.produce(self._tables.changes, value, key, partition=place)
            self._producer.poll(0)
            self.sent += 1


def change(row: dict[str, Any], lsn: int) -> tuple[bytes, bytes]:
    """An insert as Debezium sends it without schemas."""
    source = {"version": "3.6.2.Final", "connector": "postgresql", "name": "c", "ts_ms": 1794793775820, "db": "shop"}
    source |= {"snapshot": "false", "schema": "public", "table": "events", "txId": lsn, "lsn": lsn}
    value = {"before": None, "after": row, "source": source, "op": "c", "ts_ms": 1794793776075}
    return json.dumps({"id": row["id"]}).encode(), json.dumps(value).encode()


TABLES = ("disk-parquet", "s3-parquet", "disk-delta", "s3-delta", "disk-log")
"""In the order in which the driver is killed on their account."""

QUERIES = len(TABLES) + 1


def lake_sink(table: str, **config: object) -> dict[str, object]:
    return {"type": "lake", "config": {"table": table, **config}, "trigger": "0 seconds"}


@contextmanager
def driver(directory: Path, settings: Settings, *files: str) -> Iterator[subprocess.Popen[bytes]]:
    """`penstock run` in a group of processes of its own; what is left of it is killed at the end."""
    command = [sys.executable, "-m", "penstock", "run", *(files or ["pipeline.yaml"])]
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=directory, env=client_environment(settings), stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], directory: Path, pause: float = 0.3) -> None:
    give_up = time.monotonic() + SECONDS_TO_START
    while not done():
        assert process.poll() is None, (directory / "log").read_text()[-20_000:]
        assert time.monotonic() < give_up, (directory / "log").read_text()[-20_000:]
        time.sleep(pause)


@pytest.fixture
def tables(tmp_path: Path, s3_lake: Settings, s3_buckets: Path) -> Tables:
    return Tables(tmp_path, s3_lake, s3_buckets)


@pytest.mark.faults
@pytest.mark.timeout(7200)
def test_each_event_is_in_the_tables_once_however_often_the_driver_dies(
    settings: Settings, tables: Tables, tmp_path: Path, rounds: int, tell: Callable[[str], None]
) -> None:
    kills = FULL_KILLS * rounds or SHORT_KILLS
    for name in (tables.topic, tables.changes):
        ensure_topic(settings, name, PARTITIONS)
    (tmp_path / "penstock.yaml").write_text(yaml.safe_dump({"s3": dict(tables.remote.s3)}))
    with Flow(settings, tables) as flow:
        for number in range(kills):
            target = TABLES[number % len(TABLES)]
            before = tables.newest(target)
            with driver(tmp_path, settings, *tables.write_pipelines(SIZES[number % len(SIZES)])) as process:
                # A start takes a number, then comes a batch; a kill just after it finds the position not saved.
                landed = lambda target=target, before=before: tables.newest(target) > before + 1  # noqa: E731
                wait_until(landed, process, tmp_path, pause=0.005)
                time.sleep(random.choice((0, random.uniform(0, 0.2), random.uniform(0, 2))))  # noqa: S311 - any will do
                kill(process, with_java=number % 2 == 1)
    with driver(tmp_path, settings, *tables.write_pipelines(1_000_000)) as process:
        wait_until(lambda: tables.done() == [flow.sent] * QUERIES, process, tmp_path)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
    found, topic_ids = tables.ids(), in_topic(settings, tables.topic)
    repeated = sum(topic_ids.values()) - len(topic_ids)
    tell(
        f"killed the driver {kills} times over {flow.sent:,} events and as many changes: "
        + ", ".join(f"{name} has {len(ids):,}, {sum(ids.values()) - len(ids)} twice" for name, ids in found.items())
        + f"; the Avro topic has {len(topic_ids):,}, {repeated} repeated"
    )
    for ids in found.values():
        assert ids == Counter(range(flow.sent))
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
            assert re.fullmatch(rf"{re.escape(topic)}/[0-{PARTITIONS - 1}]/\d+", origin.decode())
            assert origins.setdefault(origin.decode(), record.value["id"]) == record.value["id"]
            found[record.value["id"]] += 1
    return found
