"""A database that moved to another server, whose log begins anew: nothing of it may be taken for what was before."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer as BareProducer
from deltalake import write_deltalake

from penstock.config import Settings
from penstock.kafka.admin import Admin
from penstock.kafka.options import client_options
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topic_state import list_topics
from penstock.lake.lake import Lake
from penstock.local.parts import postgres
from penstock.local.ports import free_port_settings
from penstock.local.runner import Runner
from penstock.pipelines.server_watch import ServerWatch
from penstock.spark.files import LocalFiles
from penstock.spark.lake.table import LakeTable
from tests.cdc_fixtures import MakeDatabase, run, wait_until
from tests.conftest import RunCommand, Running

PEOPLE = ("CREATE TABLE people (id int PRIMARY KEY, name text)", "INSERT INTO people VALUES (1, 'Ada')")


@pytest.fixture(scope="module")
def other_server(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database on a server of its own."""
    if stack.stack is None:
        pytest.skip("needs a stack of the tests' own")
    site = stack.stack._running_site()
    settings = site.settings.model_copy(update={"ports": free_port_settings()})
    own = replace(site, settings=settings, data=tmp_path_factory.mktemp("other"))
    [part] = postgres.parts(own)
    with ThreadPoolExecutor(1) as spawner:
        runner = Runner(part, spawner, threading.Event(), lambda _state: None)
        runner.boot()
        yield postgres.database_url(own)
        runner.ask_to_stop()
        runner.await_stop()


def test_a_server_is_noted_with_the_changes_and_another_one_is_refused(  # noqa: PLR0917 - fixtures
    run_command: RunCommand,
    make_database: MakeDatabase,
    other_server: str,
    capturing: Settings,
    capture_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, topic = make_database(*PEOPLE), f"{capture_name}.public.people"
    run(other_server, *PEOPLE)
    add = ("cdc", "add", capture_name, "--tables", "public.people", "--database")
    assert run_command(*add, here).code == 0
    wait_until(lambda: topic in topics(capturing))
    [change] = read_span(capturing, find_span(capturing, [topic]))
    noted = dict(change.headers)["penstock.server"]
    [(system,)] = run(here, "SELECT system_identifier::text FROM pg_control_system()")
    assert noted == f"{system}/1".encode()

    moved = run_command(*add, other_server)
    assert moved.code == 1
    assert f"{capture_name} was captured from another server (system {system}, this is " in moved.err
    assert "a new server needs a new snapshot" in moved.err
    lsn = json.loads(change.value)["payload"]["source"]["lsn"]
    mirror = pa.table({"id": [1], "name": ["Ada"], "_cdc": [{"lsn": lsn}]})
    write_deltalake(str(tmp_path / capture_name / "people"), mirror)
    monkeypatch.setenv("PENSTOCK_LAKE", str(tmp_path))
    assert run_command("cdc", "verify", capture_name).code == 0

    run(other_server, f"CREATE PUBLICATION penstock_{capture_name} FOR TABLE people")
    compared = run_command("cdc", "verify", capture_name, "--database", other_server, "--wait", "0")
    assert compared.code == 1
    assert "was captured from another server" in compared.err

    assert run_command("cdc", "remove", capture_name, "--yes").code == 0
    assert "was captured from another server" in run_command(*add, other_server).err
    assert run_command(*add, here).code == 0


def topics(settings: Settings) -> set[str]:
    with Admin(settings) as admin:
        return {each.name for each in list_topics(admin) if each.records}


def test_a_mirror_notes_its_server_and_another_one_is_announced(
    capturing: Settings, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = LakeTable(str(tmp_path), "shop/people")
    write_deltalake(table.path, pa.table({"id": [1]}))

    def look_after(server: str) -> tuple[str, str]:
        """What is noted and announced once a change of this server has come."""
        producer = BareProducer(client_options(capturing))
        producer.produce(topic, b"{}", headers={"penstock.server": server})
        assert producer.flush(30) == 0
        caplog.clear()
        ServerWatch(capturing, lambda: {topic: [table]}, lambda _: LocalFiles()).look()
        return Lake(capturing.model_copy(update={"lake": str(tmp_path)})).server("shop/people"), caplog.text

    assert look_after("74/1") == ("74/1", "")
    noted, announced = look_after("74/2")
    assert noted == "74/2"
    assert "the server of table shop/people was restored or failed over (timeline 1, now 2)" in announced
    for _ in range(2):
        noted, announced = look_after("99/1")
        assert noted == "74/2"
        assert "table shop/people was captured from another server (system 74, this is 99)" in announced
