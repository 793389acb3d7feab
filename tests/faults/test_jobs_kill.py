"""Metadata jobs while their driver is killed with -9 and PostgreSQL crashes, again and again: the catalog is that of a
run in peace, and each change was told, in order.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession

from penstock import Consumer, Producer
from penstock.catalog.database import Database
from penstock.catalog.jobs.roster import Roster
from penstock.catalog.jobs.store import save_job
from penstock.catalog.jobs.workshop import Workshop
from penstock.catalog.telling.change import Change
from penstock.catalog.telling.messages import CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC, change_log, platform_events
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.errors import DatabaseUnavailable
from penstock.kafka.topics import ensure_topic
from penstock.spark.queries.runner import Runner
from tests.catalog_messages import (
    CHANGE,
    EXECUTION,
    GOBBLIN,
    compaction,
    dataset_urn,
    execution,
    job_properties,
    metadata_change,
)
from tests.conftest import Running
from tests.faults.conftest import ROUNDS
from tests.integration.catalog.conftest import at_database, run
from tests.integration.catalog.events import final_tables, rows_of
from tests.spark_fixtures import QUICK_START

FULL_EVENTS, FULL_FAULTS = 50_000, 20
SHORT_EVENTS, SHORT_FAULTS = 600, 2
SHARE_SECONDS = 3.0
DATASETS = 60
ROUTES = {
    "loads": ("GobblinTrackingCompactionProcessor", "stg_kafka_gobblin_compaction"),
    "changes": ("MetadataChangeProcessor", "stg_kafka_metadata_change"),
    "runs": ("JobExecutionLineageProcessor", "stg_kafka_job_execution"),
}
SCHEMAS = {"loads": GOBBLIN, "changes": CHANGE, "runs": EXECUTION}
STAGED = "SELECT " + " + ".join(f"(SELECT count(*) FROM {table})" for _, table in ROUTES.values())  # noqa: S608 - names of the test

# Every change that was committed, whatever became of its row in the outbox.
REMEMBER = """
CREATE TABLE public.committed (LIKE outbox);
CREATE FUNCTION public.remember() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO public.committed SELECT NEW.*; RETURN NULL; END $$;
CREATE TRIGGER remember AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION public.remember();
"""


def history(count: int, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Events about some datasets, some late and some twice: the kind of each, and the event."""
    chance = random.Random(7)  # noqa: S311 - any history will do
    for number in range(count):
        happening = event(chance, number, name)
        yield from [happening] * chance.choices((1, 2), (0.95, 0.05))[0]


def event(chance: random.Random, number: int, name: str) -> tuple[str, dict[str, Any]]:
    at = 1_500_000_000_000 + number * 1000 - chance.choice((0, 0, 0, 3_600_000))
    path, other = (f"/data/{name}/set{chance.randrange(DATASETS)}" for _ in range(2))
    kind = chance.choices(list(ROUTES), (6, 3, 1))[0]
    if kind == "loads":
        return kind, compaction(at, path, f"2017/07/{1 + number % 28:02}", chance.randrange(1000))
    if kind == "changes":
        fields = {f"f{index}": chance.choice(("int", "string")) for index in range(chance.randrange(1, 6))}
        return kind, metadata_change(at, dataset_urn(path), fields, (chance.choice(("ann", "bob")),))
    state, job = chance.choice(("STARTED", "SUCCEEDED", "FAILED")), f"{name}-{number % 7}"
    return kind, execution(at, job, number // 20, state, reads=dataset_urn(path), writes=dataset_urn(other))


class Flow:
    """Sends the history in shares, each over a few seconds."""

    def __init__(self, settings: Settings, name: str, events: int, shares: int) -> None:
        happenings = list(history(events, name))
        self.size = len(happenings)
        self._shares = iter([happenings[number::shares] for number in range(shares)])
        self._producers = {
            kind: Producer(topic_of(name, kind), schema, settings=settings) for kind, schema in SCHEMAS.items()
        }
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()
        for producer in self._producers.values():
            producer.close()

    def begin_share(self) -> None:
        """Begin to send the next share."""
        share = next(self._shares)
        self._threads.append(threading.Thread(target=self._send, args=(share,)))
        self._threads[-1].start()

    def _send(self, share: list[tuple[str, dict[str, Any]]]) -> None:
        for number, (kind, happening) in enumerate(share):
            self._producers[kind].send(happening)
            if number % 50 == 0:
                time.sleep(50 * SHARE_SECONDS / len(share))


def topic_of(name: str, kind: str) -> str:
    return f"{name}-{kind}"


@contextmanager
def catalog(stack: Running, name: str, group: str) -> Iterator[Settings]:
    """An empty catalog in a database of its own, with a job that reads the history."""
    place = f"{name}_{group}".replace("-", "_")
    run(stack.settings, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(place)))
    settings = at_database(stack.settings, place)
    routes = {topic_of(name, kind): route for kind, route in ROUTES.items()}
    with Database(settings) as database, database.transaction() as connection:
        connection.execute(REMEMBER.encode())
        save_job(connection, name, job_properties(f"{name}-{group}", routes))
    yield settings
    run(stack.settings, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(place)))


class Driver:
    """`penstock jobs run` in a group of processes of its own, watched by what it does to the database."""

    def __init__(self, directory: Path, settings: Settings, database: Database) -> None:
        self._directory, self._settings, self._database = directory, settings, database
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill(with_java=True)

    @property
    def log(self) -> str:
        return (self._directory / "log").read_text()

    def start(self) -> None:
        command = [sys.executable, "-m", "penstock", "jobs", "run"]
        environment = client_environment(self._settings) | ({} if ROUNDS else quick_start(self._directory))
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._directory,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, *, with_java: bool) -> None:
        """Kill Python alone, whose Java then goes on for a moment, or both."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL) if with_java else self._process.kill()
            self._process.wait()

    def end(self) -> int:
        """End it in good order; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def until(self, query: str, is_done: Callable[[int], bool], seconds: float = 600) -> None:
        """Wait for a number in the database; the process has to live meanwhile."""
        give_up = time.monotonic() + seconds
        while not is_done(self.number(query)):
            assert self._process is not None
            assert self._process.poll() is None, self.log
            assert time.monotonic() < give_up, self.log
            time.sleep(0.2)

    def number(self, query: str) -> int:
        """What the query gives; -1 while the database is away."""
        try:
            return int(rows_of(self._database, query)[0][0])
        except DatabaseUnavailable:
            return -1


def quick_start(directory: Path) -> dict[str, str]:
    """An environment in which Spark compiles no queries, and Java little: a few batches would not repay it."""
    options = (f"{key} {value}\n" for key, value in QUICK_START.items() if key.startswith("spark.sql."))
    (directory / "spark-defaults.conf").write_text("".join(options))
    return {"SPARK_CONF_DIR": str(directory), "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}


def crash_postgres(stack: Running) -> None:
    """Kill PostgreSQL and start it again; in one that was given from outside only the test's connections break."""
    if stack.stack:
        stack.kill("postgres")
        stack.restart("postgres")
        return
    with psycopg.connect(at_database(stack.settings, "postgres").database.get_secret_value()) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'jobs_%_faults'")


def run_in_peace(spark: SparkSession, settings: Settings, events: int) -> dict[str, list[str]]:
    """The final tables of a run that nobody disturbs, over all that is there."""
    with Database(settings) as database:
        stop = threading.Event()
        runner = Runner(roster=Roster(database, (), Workshop(spark, settings, database).query))
        thread = threading.Thread(target=runner.run, args=(stop,))
        thread.start()
        try:
            give_up = time.monotonic() + 600
            while rows_of(database, STAGED) != [(events,)]:
                assert time.monotonic() < give_up
                time.sleep(0.1)
        finally:
            stop.set()
            thread.join()
        return final_tables(database)


@pytest.mark.faults
@pytest.mark.timeout(3600)
def test_the_catalog_is_that_of_a_run_in_peace_however_often_driver_and_database_die(
    stack: Running, spark: SparkSession, tmp_path: Path, rounds: int, tell: Callable[[str], None]
) -> None:
    name, began = f"jobs-{uuid.uuid4().hex[:8]}", datetime.now(UTC)
    faults, events = (FULL_FAULTS * rounds, FULL_EVENTS) if rounds else (SHORT_FAULTS, SHORT_EVENTS)
    for kind in ROUTES:
        ensure_topic(stack.settings, topic_of(name, kind), 2)
    with catalog(stack, name, "faults") as settings, catalog(stack, name, "peace") as peaceful:
        with Flow(stack.settings, name, events, faults + 1) as flow, Database(settings) as database:
            with Driver(tmp_path, settings, database) as driver:
                for number in range(faults):
                    before = driver.number(STAGED)
                    flow.begin_share()
                    driver.until(STAGED, lambda now, before=before: now > before)
                    disturb(stack, driver, number)
                flow.begin_share()
                driver.until(STAGED, lambda now: now == flow.size)
                driver.until("SELECT count(*) FROM outbox", lambda now: now == 0)
                assert driver.end() == 0, driver.log
            disturbed, wanted = final_tables(database), committed(settings)
        assert disturbed == run_in_peace(spark, peaceful, flow.size)
    found = told(stack.settings, name, began)
    repeated = sum(len(ids) - len(set(ids)) for ids in found.values())
    tell(
        f"{faults} kills of driver and PostgreSQL over {flow.size:,} events: the tables are equal, "
        f"{len(wanted):,} changes were told, {repeated} messages repeated"
    )
    assert {number for ids in found.values() for number in ids} == wanted
    for ids in found.values():
        assert list(dict.fromkeys(ids)) == sorted(set(ids))


def disturb(stack: Running, driver: Driver, number: int) -> None:
    """Kill the database or the driver at any moment."""
    time.sleep(random.uniform(0, 1.5))  # noqa: S311 - any moment will do
    if number % 2 == 0:
        crash_postgres(stack)
    else:
        driver.kill(with_java=number % 4 == 1)
        driver.start()


def committed(settings: Settings) -> set[int]:
    """The numbers of all changes that were committed and that mean a message."""
    query = "SELECT id, urn, aspect, before::text, after::text, 0, actor FROM public.committed"
    with psycopg.connect(settings.database.get_secret_value()) as connection:
        changes = [Change.from_row(row) for row in connection.execute(query)]
    return {change.id for change in changes if change_log(change) or platform_events(change)}


def told(settings: Settings, name: str, since: datetime) -> dict[tuple[str, str], list[int]]:
    """The numbers of the changes that were told, by topic and URN, in the order in which they came."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for topic in (CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC):
        with Consumer(topic, start=since, timeout=2, key_type="string", settings=settings) as records:
            for record in records:
                if name in str(record.key):
                    number = dict(record.headers)["penstock.change"] or b""
                    found[topic, str(record.key)].append(int(number))
    return found
