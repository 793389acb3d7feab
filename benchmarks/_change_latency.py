"""How long a change takes: from its commit in PostgreSQL, through Debezium and Kafka, until the lake shows it."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import yaml

from penstock.cli.demo.programs import program
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.config.database_url import at_database
from penstock.connect.captures import add_capture, remove_capture, wait_until_streaming
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture
from penstock.errors import TableNotFound, TableUnreadable
from penstock.lake.lake import Lake
from penstock.lake.question import ask

RATE = 500

_ROWS = 50_000
_COMMITS_A_SECOND = 20
_LOOK_SECONDS = 0.25
_WARM_UP_SECONDS, _CAUGHT_UP_SECONDS, _PATIENCE_SECONDS = 30.0, 12.0, 300.0
_TABLE = """
CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint NOT NULL, state text NOT NULL, total numeric(10, 2),
    stamp bigint NOT NULL);
INSERT INTO orders SELECT n, n % 1000, 'open', n % 50000 / 100.0, 0 FROM generate_series(1, %s) n;
"""
_UPDATE = "UPDATE orders SET state = %(state)s, stamp = %(stamp)s WHERE id BETWEEN %(first)s AND %(last)s"


def commit_to_visible(client: Settings, mode: str, seconds: float) -> list[float]:
    """The seconds from commit to visible of every change in this time, the shortest first."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory, _captured(client, mode) as url:
        own = client.model_copy(update={"lake": f"{directory}/lake"})
        file = Path(directory) / "pipeline.yaml"
        file.write_text(yaml.safe_dump(_pipeline(own, mode)))
        environment = {**client_environment(own), "PENSTOCK_LAKE": own.lake}
        with program("pipeline", "run", file.name, environment=environment, directory=Path(directory)) as running:
            journey = _Journey(own, f"{mode}.orders")
            with _threads(lambda ended: _update(url, journey, ended), journey.watch):
                return journey.measure(seconds, running.check)


class _Journey:
    """When each group of changes was committed, by the stamp that they carry, and when it was seen in the lake."""

    def __init__(self, settings: Settings, table: str) -> None:
        self.committed: dict[int, float] = {}
        self.seen: dict[int, float] = {}
        self._settings = settings
        self._table = table

    def watch(self, ended: threading.Event) -> None:
        """Ask again and again for the stamps that were not there yet."""
        while not ended.wait(_LOOK_SECONDS):
            oldest = min((stamp for stamp in list(self.committed) if stamp not in self.seen), default=1)
            sql = f"SELECT DISTINCT stamp FROM {self._table} WHERE stamp >= {oldest}"  # noqa: S608 - names of ours
            try:
                with ask(Lake(self._settings), sql) as answer:
                    found = [stamp for batch in answer.batches() for stamp in batch.column(0).to_pylist()]
            except (TableNotFound, TableUnreadable):
                continue
            now = time.time()
            for stamp in found:
                self.seen.setdefault(stamp, now)

    def measure(self, seconds: float, check: Callable[[], None]) -> list[float]:
        """Wait until what came while Spark started is done, measure for so long, and wait for the last ones."""
        _wait(lambda: time.time() - self._newest() < _CAUGHT_UP_SECONDS, check)
        time.sleep(_WARM_UP_SECONDS)
        since = time.time()
        time.sleep(seconds)
        wanted = [stamp for stamp, at in list(self.committed.items()) if at >= since]
        _wait(lambda: all(stamp in self.seen for stamp in wanted), check)
        per_commit = RATE // _COMMITS_A_SECOND
        return sorted(self.seen[stamp] - self.committed[stamp] for stamp in wanted for _ in range(per_commit))

    def _newest(self) -> float:
        return self.committed.get(max(list(self.seen), default=0), 0.0)


def _update(url: str, journey: _Journey, ended: threading.Event) -> None:
    """Update the rows in turn, some in each transaction, at an even pace."""
    size, due = RATE // _COMMITS_A_SECOND, time.monotonic()
    first = 1
    with psycopg.connect(url, autocommit=True) as shop:
        for stamp in range(1, sys.maxsize):
            if ended.wait(max(0.0, due - time.monotonic())):
                return
            due += 1 / _COMMITS_A_SECOND
            values = {"state": ("paid", "sent")[stamp % 2], "stamp": stamp, "first": first, "last": first + size - 1}
            shop.execute(_UPDATE, values)
            journey.committed[stamp] = time.time()
            first = first + size if first + 2 * size <= _ROWS else 1


@contextmanager
def _captured(client: Settings, mode: str) -> Iterator[str]:
    """A database of orders, captured in Avro."""
    name = ConnectorName(f"bench{mode}")
    url = at_database(client.database.get_secret_value(), name)
    with psycopg.connect(client.database.get_secret_value(), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    with psycopg.connect(url) as shop:
        shop.execute(_TABLE.replace("%s", str(_ROWS)))
    with ConnectClient(client) as connect:
        add_capture(connect, client, Capture(name, ("public.*",), "avro"), url, {"poll.interval.ms": "100"})
        wait_until_streaming(connect, name, url, _PATIENCE_SECONDS)
        try:
            yield url
        finally:
            remove_capture(connect, name, url, _PATIENCE_SECONDS)


def _pipeline(own: Settings, mode: str) -> dict[str, object]:
    connection = {"bootstrap": own.bootstrap, "schema_registry_url": own.registry}
    config = {"connection": connection, "pattern": f"bench{mode}\\.public\\.", "format": "debezium"}
    sink = {"type": "lake", "config": {"table": f"{mode}/{{table}}", "mode": mode}, "trigger": "1 second"}
    return {"name": f"bench{mode}", "source": {"type": "kafka", "config": config}, "sinks": [sink]}


@contextmanager
def _threads(*works: Callable[[threading.Event], None]) -> Iterator[None]:
    """Let these work until the block is done; a failure of theirs is one of the block."""
    ended = threading.Event()
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(work, ended) for work in works]
        try:
            yield
        finally:
            ended.set()
    for future in futures:
        future.result()


def _wait(done: Callable[[], bool], check: Callable[[], None]) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not done():
        check()
        if time.monotonic() > give_up:
            sys.exit("the changes do not arrive")
        time.sleep(_LOOK_SECONDS)
