"""A database works while Connect, the driver, the broker and the database itself are killed with -9: in the end its
mirrors are the same as its tables, and its history has every version without gaps.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.config.database_url import at_database
from penstock.connect.captures import add_capture, wait_until_streaming
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture
from penstock.errors import ConnectorFailed, Transient
from penstock.local.process import tail
from penstock.local.stack import Stack, StackOptions
from tests.cdc_fixtures import run
from tests.conftest import local_settings
from tests.faults.change_workload import SCHEMA, TABLES, Workload
from tests.faults.conftest import ROUNDS
from tests.faults.test_driver_kill import driver, kill
from tests.lake_queries import scan_delta
from tests.spark_fixtures import QUICK_START

NAME = ConnectorName("works")
FULL_KILLS = 20
SHORT_SEED, SHORT_VICTIMS = 7, ["connect", "driver"]
SHORT_TABLES = ("things",)
"""The one of all types: each table more is two queries more that start cold."""

LIGHT = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=384m"
VICTIMS = ("connect", "kafka", "postgres", "driver")
SECONDS_TO_AGREE = 900
OWN = {"_cdc", "_valid_from", "_valid_to", "_op"}
KEYS = {"things": ("id",), "orders": ("customer", "number"), "notes": ("id",)}

Row = dict[str, Any]


@dataclass
class Shop:
    """The systems, the directory of the pipeline and its lake, what was killed, and restarts of connectors by hand."""

    stack: Stack
    directory: Path
    settings: Settings
    url: str
    tables: tuple[str, ...]
    restarts: int = 0
    killed: Counter[str] = field(default_factory=Counter)

    def capture(self) -> None:
        with ConnectClient(self.settings) as client:
            fast = {"poll.interval.ms": "100", "retriable.restart.connector.wait.ms": "1000"}
            add_capture(client, self.settings, Capture(NAME, ("public.*",)), self.url, fast)
        self.wait_for_changes()

    def wait_for_changes(self) -> None:
        """Wait until changes flow; a connector that gave up is restarted, as its owner would."""
        deadline = time.monotonic() + 120
        while True:
            try:
                with ConnectClient(self.settings) as client:
                    return wait_until_streaming(client, NAME, self.url, 60)
            except ConnectorFailed:
                with ConnectClient(self.settings) as client:
                    client.restart(NAME)
                self.restarts += 1
            except Transient:
                assert time.monotonic() < deadline, self.end_of_log("postgres")
                time.sleep(0.5)

    def end_of_log(self, part: str) -> str:
        return "\n".join(tail(self.directory / "data" / "logs" / f"{part}.log", lines=40))

    def kill(self, victim: str) -> None:
        self.killed[victim] += 1
        self.stack.kill(victim)
        time.sleep(random.uniform(0, 2))  # noqa: S311 - any moment will do
        self.stack.restart(victim)

    def rows(self, table: str) -> list[Row]:
        return scan_delta(str(self.directory / "lake" / table))


def pipeline(tables: tuple[str, ...]) -> dict[str, object]:
    pattern = f"{NAME}\\.public\\.({'|'.join(tables)})"
    source = {"type": "kafka", "config": {"pattern": pattern, "format": "debezium"}}
    sinks = [
        {"type": "lake", "config": {"table": f"{mode}/{{table}}", "mode": mode}, "trigger": "1 second"}
        for mode in ("mirror", "history")
    ]
    conf = {"spark.driver.memory": "1g", **({"spark.driver.extraJavaOptions": LIGHT} if ROUNDS else QUICK_START)}
    return {"name": str(NAME), "source": source, "sinks": sinks, "spark": {"master": "local[2]", "conf": conf}}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with Stack(StackOptions(cdc=True), local_settings(tmp_path / "data")) as stack:
        settings = stack.settings()
        base = settings.database.get_secret_value()
        run(base, "CREATE DATABASE works")
        url = at_database(base, "works")
        run(url, *SCHEMA)
        tables = TABLES if ROUNDS else SHORT_TABLES
        (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline(tables)))
        yield Shop(stack, tmp_path, settings, url, tables)


@pytest.mark.faults
@pytest.mark.timeout(3600)
def test_mirrors_and_histories_are_right_whatever_dies(shop: Shop, rounds: int, tell: Callable[[str], None]) -> None:
    seed = int(os.environ.get("SEED", time.time_ns() % 10**6 if rounds else SHORT_SEED))
    chance = random.Random(seed)  # noqa: S311 - any order will do, as long as it can be repeated
    victims = chance.choices(VICTIMS, k=FULL_KILLS * rounds) if rounds else SHORT_VICTIMS
    began = time.monotonic()
    tell(f"seed {seed}")
    shop.capture()
    with Workload(shop.url, seed, rewrites=bool(rounds)) as work:
        work_through(shop, victims, chance)
    with driver(shop.directory, shop.settings):
        shop.wait_for_changes()
        wait_for_tables(shop)
        agreed = verified(shop)
        wait_for_history(shop)
    tell(
        f"killed {dict(shop.killed)} while {sum(work.done.values()):,} transactions ran in "
        f"{time.monotonic() - began:.0f} s: {agreed}; connectors restarted by hand: {shop.restarts}"
    )
    for table in shop.tables:
        assert_without_gaps(shop.rows(f"history/{table}"), KEYS[table])


def work_through(shop: Shop, victims: list[str], chance: random.Random) -> None:
    """Let drivers follow one after the other, and kill what is to be killed on the way."""
    left = list(victims)
    while left:
        shop.wait_for_changes()
        with driver(shop.directory, shop.settings) as process:
            wait_for_rows(shop, process)
            while left and process.poll() is None:
                victim = left.pop(0)
                time.sleep(chance.uniform(0.5, 4))
                if victim == "driver":
                    shop.killed[victim] += 1
                    kill(process, with_java=chance.random() < 0.5)
                else:
                    shop.kill(victim)


def wait_for_rows(shop: Shop, process: subprocess.Popen[bytes]) -> None:
    """Wait until a driver has written something: before that, there is little to break."""
    before = versions(shop)
    give_up = time.monotonic() + SECONDS_TO_AGREE
    while versions(shop) <= before:
        assert process.poll() is None, (shop.directory / "log").read_text()
        assert time.monotonic() < give_up, (shop.directory / "log").read_text()
        time.sleep(0.3)


def wait_for_tables(shop: Shop) -> None:
    """Wait until every table is in the lake: `cdc verify` has patience with rows, not with a table that is missing."""
    give_up = time.monotonic() + SECONDS_TO_AGREE
    while not all(DeltaTable.is_deltatable(str(shop.directory / "lake" / "mirror" / table)) for table in shop.tables):
        assert time.monotonic() < give_up, (shop.directory / "log").read_text()
        time.sleep(1)


def versions(shop: Shop) -> int:
    return len(list(shop.directory.glob("lake/*/*/_delta_log/*.json")))


def verified(shop: Shop) -> str:
    """What `penstock cdc verify` says once the mirrors have caught up."""
    only = () if shop.tables == TABLES else (f"public.{table}" for table in shop.tables)
    command = [sys.executable, "-m", "penstock", "cdc", "verify", NAME, *only, "--mirror", "mirror/{table}", "--json"]
    command += ["--wait", str(SECONDS_TO_AGREE)]
    environment = client_environment(shop.settings)
    ended = subprocess.run(command, cwd=shop.directory, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}\n{(shop.directory / 'log').read_text()[-4000:]}"
    verdicts = json.loads(ended.stdout)
    assert {verdict["table"] for verdict in verdicts} == {f"public.{table}" for table in shop.tables}
    return ", ".join(f"{verdict['table']} {verdict['equal']:,} rows equal, 0 different" for verdict in verdicts)


def wait_for_history(shop: Shop) -> None:
    """The open versions are the rows of the mirror, once both have read everything."""
    give_up = time.monotonic() + SECONDS_TO_AGREE
    for table in shop.tables:
        while found := differences(shop.rows(f"history/{table}"), shop.rows(f"mirror/{table}"), KEYS[table]):
            log = (shop.directory / "log").read_text()[-2000:]
            assert time.monotonic() < give_up, f"{table}, history and mirror: {dict(found[:5])}\n{log}"
            time.sleep(1)


def differences(history: list[Row], mirror: list[Row], keys: tuple[str, ...]) -> list[tuple[Any, Any]]:
    """The columns in which open versions and mirrored rows differ, by key; a deletion is no row."""
    there = [row for row in history if row["_valid_to"] is None and row["_op"] not in {"d", "t"}]
    now, then = ({tuple(row[key] for key in keys): _texts(row) for row in rows} for rows in (there, mirror))
    assert len(there) == len(now), "a row has two open versions"
    return [
        (key, _unlike(now.get(key, {}), then.get(key, {}))) for key in {**now, **then} if now.get(key) != then.get(key)
    ]


def _texts(row: Row) -> dict[str, str]:
    return {name: repr(value) for name, value in row.items() if name not in OWN}


def _unlike(left: dict[str, str], right: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    return {name: (left.get(name), right.get(name)) for name in {**left, **right} if left.get(name) != right.get(name)}


def assert_without_gaps(history: list[Row], keys: tuple[str, ...]) -> None:
    """The versions of each row follow each other, and one of them is open."""
    by_key: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in history:
        by_key[tuple(row[key] for key in keys)].append(row)
    for key, versions in by_key.items():
        assert sum(row["_valid_to"] is None for row in versions) == 1, key
        ordered = sorted(versions, key=lambda row: (row["_valid_to"] is None, row["_valid_from"], row["_valid_to"]))
        for earlier, later in pairwise(ordered):
            assert earlier["_valid_to"] == later["_valid_from"], key
