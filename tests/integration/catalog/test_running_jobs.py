"""`penstock jobs run`, from messages in Kafka to the catalog, and from its changes back to Kafka."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest

from penstock import Consumer, Producer
from penstock.catalog.database import Database
from penstock.catalog.jobs.store import save_job, set_active
from penstock.catalog.telling.messages import PLATFORM_EVENT_TOPIC
from penstock.config import Settings
from penstock.kafka.span import find_span, read_span
from penstock.local.ports import free_ports
from tests.catalog_messages import CHANGE, GOBBLIN, compaction, dataset_urn, job_properties, metadata_change
from tests.conftest import RunCommand
from tests.integration.catalog.events import final_tables, rows_of
from tests.integration.conftest import CreateTopic, Fill
from tests.running_pipeline import committed

COMPACTIONS = ("GobblinTrackingCompactionProcessor", "stg_kafka_gobblin_compaction")
CHANGES = ("MetadataChangeProcessor", "stg_kafka_metadata_change")
OWN = ("tests.integration.catalog.names_only:NamesOnly", "stg_names")


@dataclass(frozen=True)
class Senders:
    """Makes topics, and sends to them in every way."""

    settings: Settings
    create_topic: CreateTopic
    fill: Fill
    name: str

    def topic(self, kind: str) -> str:
        return self.create_topic(1, f"{self.name}-{kind}", max_message_bytes="20000000")

    def send(self, topic: str, schema: object, *records: object, ids: str = "int") -> None:
        chosen = self.settings.model_copy(update={"schema_ids": ids})
        with Producer(topic, schema, settings=chosen, options={"message.max.bytes": 20_000_000}) as producer:
            for record in records:
                producer.send(record)

    def encoded(self, topic: str, schema: object, *records: object) -> list[bytes]:
        """Messages as they would be sent to a topic."""
        with Producer(topic, schema, settings=self.settings) as producer:
            return [producer._encode(record) for record in records]


@pytest.fixture
def senders(settings: Settings, create_topic: CreateTopic, fill: Fill, topic: str) -> Senders:
    return Senders(settings, create_topic, fill, topic)


@pytest.fixture
def in_catalog(catalog_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the catalog of the test."""
    monkeypatch.setenv("PENSTOCK_DATABASE", catalog_settings.database.get_secret_value())


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What the command tells at its port of metrics."""
    [port] = free_ports(1)
    monkeypatch.setenv("PENSTOCK_METRICS_PORT", str(port))
    return lambda: httpx.get(f"http://127.0.0.1:{port}/metrics").text


@contextmanager
def ended_by_signal(steps: Callable[[], None]) -> Iterator[None]:
    """While a command runs in this thread, take these steps in another, and then end the command by SIGTERM."""
    failures: list[BaseException] = []
    has_ended = threading.Event()

    def run() -> None:
        try:
            steps()
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)
        if not has_ended.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
        signal.signal(signal.SIGTERM, before)
    assert not failures, failures


def wait_until(done: Callable[[], object], seconds: float = 240) -> None:
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def save(database: Database, job: str, routes: Mapping[str, tuple[str, str]]) -> None:
    """Keep a job, and make the table of the user's own processor."""
    with database.transaction() as connection:
        connection.execute("""CREATE TABLE IF NOT EXISTS public.stg_names (name text, size int, kafka_topic text,
            kafka_partition int, kafka_offset bigint, PRIMARY KEY (kafka_topic, kafka_partition, kafka_offset))""")
        save_job(connection, job, job_properties(job, routes))


def dead_letters(settings: Settings, topic: str) -> list[str]:
    """Why each of the dead letters is one."""
    records = read_span(settings, find_span(settings, [topic]))
    return [(dict(record.headers)["penstock.error.message"] or b"").decode() for record in records]


def told_of(settings: Settings, urn: str, since: datetime) -> list[tuple[str, str]]:
    """The category and operation of each EntityChangeEvent about a dataset."""
    with Consumer(PLATFORM_EVENT_TOPIC, start=since, timeout=2, key_type="string", settings=settings) as records:
        payloads = [json.loads(record.value["payload"]["value"]) for record in records if record.key == urn]
    return [(payload["category"], payload["operation"]) for payload in payloads]


def refused_loads(path: str) -> dict[str, dict[str, object]]:
    """Events that make no row, by what is said of them."""
    return {
        "the event has no dataset": compaction(2000, "", "p", 1),
        "the record count is no number: many": compaction(2000, path, "p", "many"),
        "NUL character": compaction(2000, path, "p", 1, dedupeStatus="a\x00b"),
        "9,000,000 bytes": compaction(2000, path, "p", 1, dedupeStatus="x" * 9_000_000),
        "event_ms": compaction(-5, path, "p", 1),
    }


def assert_told_why(letters: list[str], path: str) -> None:
    reasons = ["not with 0x00 and a schema id", "dedupe_status is no valid Unicode", *refused_loads(path)]
    assert [reason for reason in reasons if not any(reason in letter for letter in letters)] == []
    assert sum("ZeroDivisionError" in letter for letter in letters) == 1
    assert len(letters) == len(reasons) + 1


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("spark", "in_catalog")
def test_events_of_three_id_widths_reach_the_catalog_and_their_changes_the_outgoing_topics(
    database: Database, senders: Senders, run_command: RunCommand, metrics: Callable[[], str]
) -> None:
    began, job = datetime.now(UTC), f"j{senders.name[-8:]}"
    path, loads, changes, names = f"/data/{job}", *map(senders.topic, ("loads", "changes", "names"))
    urn = dataset_urn(path)
    for number, ids in enumerate(("int", "long", "uuid"), start=1):
        senders.send(loads, GOBBLIN, compaction(1000 + number, path, f"2016/07/0{number}", number), ids=ids)
    [damaged] = senders.encoded(loads, GOBBLIN, compaction(2000, path, "p", 1, dedupeStatus="NOTEXT"))
    senders.fill(loads, [b"no Avro", damaged.replace(b"NOTEXT", b"\xff" * 6)])
    senders.send(loads, GOBBLIN, *refused_loads(path).values(), compaction(1004, path, "2016/07/04", 3))
    senders.send(changes, CHANGE, metadata_change(3000, urn, {"id": "long", "page": "string"}, ("ann",), ("pii",)))
    save(database, "broken", {"nowhere": COMPACTIONS})
    save(database, job, {loads: COMPACTIONS, changes: CHANGES})

    def steps() -> None:
        wait_until(lambda: rows_of(database, "SELECT count(*) FROM dataset_load_status") == [(4,)])
        wait_until(lambda: rows_of(database, "SELECT count(*) FROM dataset_owner") == [(1,)])
        # Another topic while the process runs, without a subject in the registry.
        unwanted, failing = (
            {"namespace": "", "timestamp": 1, "metadata": {}, "name": name} for name in ("unwanted", "x")
        )
        senders.fill(names, senders.encoded(loads, GOBBLIN, unwanted, failing, compaction(1, path, "p", 1)))
        save(database, job, {loads: COMPACTIONS, changes: CHANGES, names: OWN})
        wait_until(lambda: rows_of(database, "SELECT name, size FROM stg_names") == [("CompactionCompleted", 2)])
        wait_until(lambda: rows_of(database, "SELECT count(*) FROM outbox") == [(0,)])
        counted = f'penstock_query_messages_read_total{{pipeline="{job}",sink="{loads}"}} 11.0'
        wait_until(lambda: counted in metrics(), 10)

    with ended_by_signal(steps):
        ran = run_command("jobs", "run")
    assert (ran.code, "broken.nowhere stopped" in ran.err) == (1, True), ran.err
    assert (committed(senders.settings, job, loads), committed(senders.settings, job, names)) == (11, 3)
    letters = dead_letters(senders.settings, f"{job}.dead")
    assert_told_why(letters, path)
    job_shown = json.loads(run_command("jobs", "show", job, "--json").out)
    assert job_shown["left_out"] == [{"topic": names, "reason": "no row of the processor", "records": 1}]
    assert f"{names} no row of the processor 1" in run_command("jobs", "show", job).lines
    shown = json.loads(run_command("catalog", "show", urn, "--json").out)
    assert [field["path"] for field in shown["schemas"][0]["fields"]] == ["id", "page"]
    assert [load["partition_expr"] for load in shown["loads"]] == [f"2016/07/0{day}" for day in (4, 3, 2, 1)]
    told = told_of(senders.settings, urn, began)
    assert {("LIFECYCLE", "CREATE"), ("TECHNICAL_SCHEMA", "ADD"), ("OWNER", "ADD"), ("TAG", "ADD")} < set(told)
    assert told.count(("RUN", "COMPLETED")) == 4

    before = final_tables(database)
    with database.transaction() as connection:
        connection.execute("DELETE FROM etl_job WHERE job_name = 'broken'")
        connection.execute("DELETE FROM stg_kafka_gobblin_compaction")
        connection.execute("DELETE FROM dataset_tag")
    rebuilt = run_command("catalog", "rebuild", "--from", "kafka", "--yes")
    assert (rebuilt.code, "11 messages read, 7 refused" in rebuilt.err) == (0, True), rebuilt.err
    assert final_tables(database) == before
    assert len(dead_letters(senders.settings, f"{job}.dead")) == len(letters)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("spark", "in_catalog")
def test_a_paused_job_says_how_it_is_resumed_and_runs_once_it_is(
    database: Database, senders: Senders, run_command: RunCommand, metrics: Callable[[], str]
) -> None:
    job, loads = f"j{senders.name[-8:]}", senders.topic("loads")
    senders.send(loads, GOBBLIN, compaction(1000, f"/data/{job}", "2016/07/01", 1))
    save(database, job, {loads: COMPACTIONS})
    with database.transaction() as connection:
        set_active(connection, job, is_active=False)

    def is_up() -> bool:
        try:
            return bool(metrics())
        except httpx.TransportError:
            return False

    def steps() -> None:
        wait_until(is_up)
        with database.transaction() as connection:
            set_active(connection, job, is_active=True)
        wait_until(lambda: rows_of(database, "SELECT count(*) FROM dataset_load_status") == [(1,)])

    with ended_by_signal(steps):
        ran = run_command("jobs", "run", job)
    assert ran.code == 0, ran.err
    assert f"{job} is paused; `penstock jobs resume {job}` lets it run" in " ".join(ran.err.split())
