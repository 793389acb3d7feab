from __future__ import annotations

import json
import time
from collections.abc import Callable

import psycopg
import pytest

from penstock.config import Settings
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.kafka.admin import Admin
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topic_state import list_topics
from tests.cdc_fixtures import MakeDatabase, run
from tests.conftest import RunCommand

SHOP = (
    "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL)",
    "CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, total numeric(10, 2))",
    "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace')",
)


@pytest.fixture(scope="module")
def shop(make_database: MakeDatabase) -> str:
    """A database of customers and orders, with a password in its URL."""
    url = make_database(*SHOP)
    return url.replace("penstock@", f"penstock:{password_of(url)}@")


def password_of(url: str) -> str:
    with psycopg.connect(url) as connection:
        return connection.info.password


def test_a_database_is_captured_looked_at_and_let_go(run_command: RunCommand, shop: str, capture_name: str) -> None:
    added = run_command("cdc", "add", capture_name, "--database", shop, "--tables", "public.*")
    assert added.code == 0, added.err
    assert f"{capture_name} streams: 2 tables" in added.lines
    assert f"{capture_name}.public.customers 2" in added.lines

    again = run_command(
        "cdc", "add", capture_name, "--database", shop, "--tables", "public.*", "--set", "poll.interval.ms=200"
    )
    assert again.code == 0, again.err

    status = run_command("cdc", "status", capture_name, "--json")
    told = json.loads(status.out)
    assert told["streams"]
    assert told["tables"] == ["public.customers", "public.orders"]
    assert told["behind_bytes"] >= 0
    assert told["behind_seconds"] >= 0
    assert told["settings"]["poll.interval.ms"] == "200"
    assert told["settings"]["database.password"] == "********"

    run(shop, "CREATE TABLE baskets (id int PRIMARY KEY)")
    seen = run_command("cdc", "status", capture_name)
    assert any(line.startswith("not captured yet: public.baskets; ") for line in seen.lines)
    assert run_command("cdc", "restart", capture_name).code == 0
    listed = run_command("cdc", "list")
    assert f"{capture_name} PostgresConnector running 1/1 public.*" in listed.lines
    assert password_of(shop) not in "".join(part.out + part.err for part in (added, again, status, seen, listed))

    unasked = run_command("cdc", "remove", capture_name)
    assert unasked.code == 2
    removed = run_command("cdc", "remove", capture_name, "--yes")
    assert removed.code == 0, removed.err
    assert run(shop, "SELECT * FROM pg_replication_slots WHERE database = current_database()") == []
    assert run(shop, "SELECT * FROM pg_publication") == []


@pytest.mark.timeout(400)
def test_a_capture_that_was_removed_begins_with_a_snapshot_when_it_is_added_again(
    run_command: RunCommand, make_database: MakeDatabase, capturing: Settings, capture_name: str
) -> None:
    shop = make_database(*SHOP)
    add = ("cdc", "add", capture_name, "--database", shop, "--tables", "public.*")
    assert run_command(*add).code == 0
    before = [("r", "Ada"), ("r", "Grace")]
    wait_for(lambda: changes(capturing, f"{capture_name}.public.customers") == before)
    with ConnectClient(capturing) as client:
        client.stop(ConnectorName(capture_name))
        wait_for(lambda: client.state(ConnectorName(capture_name)).is_stopped)
    assert run_command(*add).code == 0

    removed = run_command("cdc", "remove", capture_name, "--yes")
    assert (removed.code, removed.err) == (0, "")
    run(shop, "UPDATE customers SET name = 'Augusta' WHERE id = 1", "INSERT INTO customers VALUES (3, 'Mary')")
    again = run_command(*add)
    assert again.code == 0, again.err
    run(shop, "INSERT INTO customers VALUES (4, 'Hedy')")
    expected = sorted([*before, ("r", "Augusta"), ("r", "Grace"), ("r", "Mary"), ("c", "Hedy")])
    wait_for(lambda: changes(capturing, f"{capture_name}.public.customers") == expected)


def test_rows_that_a_new_table_has_before_the_restart_come_with_a_new_snapshot_alone(
    run_command: RunCommand, make_database: MakeDatabase, capturing: Settings, capture_name: str
) -> None:
    shop = make_database(*SHOP)
    add = ("cdc", "add", capture_name, "--database", shop, "--tables", "public.*")
    assert run_command(*add).code == 0
    run(shop, "CREATE TABLE items (id int PRIMARY KEY, name text)", "INSERT INTO items VALUES (1, 'early')")
    restarted = run_command("cdc", "restart", capture_name)
    assert restarted.code == 0, restarted.err
    assert "captured from now on: public.items; rows that are there already are sent by a new snapshot" in restarted.err
    run(shop, "INSERT INTO items VALUES (2, 'late')")
    wait_for(lambda: changes(capturing, f"{capture_name}.public.items") == [("c", "late")])

    assert run_command("cdc", "remove", capture_name, "--yes").code == 0
    assert run_command(*add).code == 0
    expected = [("c", "late"), ("r", "early"), ("r", "late")]
    wait_for(lambda: changes(capturing, f"{capture_name}.public.items") == expected)


def test_a_table_that_is_dropped_and_made_again_is_a_new_table_of_the_same_topic(
    run_command: RunCommand, make_database: MakeDatabase, capturing: Settings, capture_name: str
) -> None:
    shop, topic = make_database(*SHOP), f"{capture_name}.public.customers"
    assert run_command("cdc", "add", capture_name, "--database", shop, "--tables", "public.*").code == 0
    run(shop, "TRUNCATE customers")
    before = [("r", "Ada"), ("r", "Grace"), ("t", "")]
    wait_for(lambda: changes(capturing, topic) == before)
    run(shop, "DROP TABLE customers", SHOP[0], "INSERT INTO customers VALUES (1, 'unseen')")
    status = json.loads(run_command("cdc", "status", capture_name, "--json").out)
    assert (status["streams"], status["tables"], status["missed"]) == (True, ["public.orders"], ["public.customers"])

    assert run_command("cdc", "restart", capture_name).code == 0
    run(shop, "INSERT INTO customers VALUES (2, 'Hedy')")
    wait_for(lambda: changes(capturing, topic) == sorted([*before, ("c", "Hedy")]))


def changes(settings: Settings, topic: str) -> list[tuple[str, str]]:
    """The changes in a topic: what was done, and the name after it."""
    with Admin(settings) as admin:
        if not any(each.name == topic for each in list_topics(admin)):
            return []
    payloads = [json.loads(record.value)["payload"] for record in read_span(settings, find_span(settings, [topic]))]
    return sorted((each["op"], (each["after"] or {}).get("name", "")) for each in payloads)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_connector_that_fails_says_why_in_one_line(
    run_command: RunCommand, make_database: MakeDatabase, capture_name: str
) -> None:
    shop = make_database(*SHOP)
    failed = run_command(
        *("cdc", "add", capture_name, "--database", shop, "--tables", "public.orders"),
        *("--set", "publication.autocreate.mode=disabled"),
    )
    assert failed.code == 1
    assert "connect.failed" in failed.err
    assert "Publication autocreation is disabled" in failed.err
    assert "at io.debezium" not in failed.err
    assert "at io.debezium" in run_command("cdc", "status", capture_name).out
    assert run_command("cdc", "remove", capture_name, "--yes").code == 0


def test_a_database_that_is_not_ready_is_told_with_the_sql_that_mends_it(
    run_command: RunCommand, make_database: MakeDatabase
) -> None:
    url = make_database('CREATE TABLE "Log" (at timestamptz)', "CREATE TABLE plain (id int PRIMARY KEY)")
    refused = run_command("cdc", "add", "unfit", "--database", url, "--tables", "public.*")
    assert refused.code == 1
    assert "public.Log has no primary key: once captured, PostgreSQL refuses its UPDATEs and DELETEs" in refused.err
    assert 'ALTER TABLE "public"."Log" REPLICA IDENTITY FULL;' in refused.err
    assert "plain" not in refused.err
    run(url, 'ALTER TABLE "public"."Log" REPLICA IDENTITY FULL')
    assert run_command("cdc", "add", "unfit", "--database", url, "--tables", "nothing.*").code == 1


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://nobody@localhost:{port}/penstock", "database.refused"),
        ("postgresql://penstock:hush@localhost:{port}/no_such_database", "database.refused"),
        ("postgresql://penstock:hush@localhost:1/penstock", "database.unavailable"),
        ("mongodb://localhost/penstock", "usage"),
        ("mysql://root:hush@localhost/shop", "connect.refused"),
    ],
)
def test_an_address_that_does_not_work_is_told_without_its_password(
    run_command: RunCommand, capturing: Settings, url: str, code: str
) -> None:
    port = capturing.database.get_secret_value().rpartition(":")[2].partition("/")[0]
    refused = run_command("cdc", "add", "unfit", "--database", url.format(port=port), "--tables", "public.*")
    assert refused.code in {1, 2}
    assert code in refused.err
    assert "hush" not in refused.err


def test_a_cluster_that_does_not_answer_is_told(run_command: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CONNECT", "http://localhost:1")
    refused = run_command("cdc", "list")
    assert refused.code == 1
    assert "connect.unavailable" in refused.err
