from __future__ import annotations

import re
from dataclasses import replace

import pytest

from penstock.config import load_settings
from penstock.connect.client import ConnectorName
from penstock.connect.debezium import Capture, ValueFormat, other_settings, postgres_settings
from penstock.connect.facts import Partition, ReplicaIdentity, TableFacts
from penstock.connect.patterns import as_regular_expressions, from_regular_expressions, is_meant, table_patterns
from penstock.connect.postgres import Address
from penstock.connect.state import readable
from penstock.errors import UsageError

SETTINGS = load_settings(env={}).settings
ADDRESS = Address("db", 5432, "app", "sesame", "shop", "require")
CAPTURE = Capture(ConnectorName("my-Shop"), ("public.*",))


def made(values: ValueFormat = "json", **given: str) -> dict[str, str]:
    capture = Capture(CAPTURE.name, CAPTURE.tables, values)
    return postgres_settings(capture, ADDRESS, SETTINGS, {key.replace("_", "."): value for key, value in given.items()})


def test_what_is_given_wins() -> None:
    assert made()["skipped.operations"] == "none"
    assert made(skipped_operations="t")["skipped.operations"] == "t"


def test_partitions_are_not_captured_as_tables_and_parents_are_read_without_their_children() -> None:
    part = Partition("public", "sales_(1)$", ReplicaIdentity.DEFAULT, has_key=True)
    plain = TableFacts("public", "sales", ReplicaIdentity.DEFAULT, has_key=True, is_own=True, may_read=True)
    parent = replace(plain, name="people", children=("public.staff",))
    chosen = postgres_settings(CAPTURE, ADDRESS, SETTINGS, {}, [replace(plain, partitions=(part,)), parent])
    tables = chosen["table.include.list"]
    assert [bool(re.fullmatch(tables, name)) for name in ("public.sales", "public.sales_(1)$", "public.staff")] == [
        True,
        False,
        True,
    ]
    assert from_regular_expressions(tables) == CAPTURE.tables
    assert chosen["snapshot.select.statement.overrides"] == "public.people"
    assert chosen["snapshot.select.statement.overrides.public.people"] == 'SELECT * FROM ONLY "public"."people"'


def test_slot_and_publication_are_named_after_the_capture() -> None:
    assert made()["slot.name"] == made()["publication.name"] == "penstock_my_shop"


def test_values_are_json_with_or_without_schema_or_avro_with_the_registry() -> None:
    assert made("json")["value.converter.schemas.enable"] == "true"
    assert made("bare-json")["key.converter.schemas.enable"] == "false"
    assert made("avro")["key.converter.apicurio.registry.url"] == "http://localhost:8081/apis/registry/v2"


def test_other_databases_get_their_own_class_and_a_history_of_schemas() -> None:
    chosen = other_settings(CAPTURE, "mysql://root:a%2Fb@db/shop", SETTINGS, {})
    assert chosen["connector.class"] == "io.debezium.connector.mysql.MySqlConnector"
    assert (chosen["database.port"], chosen["database.password"]) == ("3306", "a/b")
    assert chosen["schema.history.internal.kafka.topic"] == "my-Shop.schema-history"


def test_a_class_that_is_given_stands_for_a_kind_that_is_not_known() -> None:
    given = {"connector.class": "io.debezium.connector.sqlserver.SqlServerConnector", "database.names": "shop"}
    chosen = other_settings(CAPTURE, "sqlserver://sa:hush@db:1433", SETTINGS, given)
    assert chosen.items() >= {**given, "database.hostname": "db", "database.port": "1433"}.items()
    assert "database.port" not in other_settings(CAPTURE, "sqlserver://sa@db", SETTINGS, given)
    assert "database.server.id" not in chosen
    with pytest.raises(UsageError, match="sqlserver are not known"):
        other_settings(CAPTURE, "sqlserver://sa@db", SETTINGS, {})


@pytest.mark.parametrize("name", ["", "1shop", "a.b", "a b", "x" * 49])
def test_names_that_cannot_begin_a_topic_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        Capture(ConnectorName(name), ("public.*",))


def test_an_address_shows_no_password() -> None:
    assert "sesame" not in repr(ADDRESS)


def test_patterns_mean_the_same_here_and_in_debezium() -> None:
    patterns = table_patterns("public.order_?, shop.*,audit.log$1")
    regular = as_regular_expressions(patterns)
    assert from_regular_expressions(regular) == patterns
    for name in ("public.order_1", "public.orders", "shop.a", "shop.a.b", "audit.log$1", "audit.logs"):
        assert is_meant(name, patterns) == any(re.fullmatch(each, name) for each in regular.split(","))


@pytest.mark.parametrize("text", ["", "orders", "a.b.c", "public. orders x"])
def test_what_names_no_table_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        table_patterns(text)


def test_a_trace_becomes_what_was_done_and_what_went_wrong() -> None:
    trace = """org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.Errors.execute(Errors.java:230)
Caused by: io.debezium.DebeziumException: Snapshotting failed
\tat io.debezium.Snapshot.run(Snapshot.java:1)
Caused by: org.postgresql.util.PSQLException: FATAL: role "x" does not exist
\t... 9 more
"""
    assert readable(trace) == 'Tolerance exceeded in error handler: FATAL: role "x" does not exist'
    assert readable("java.lang.NullPointerException\n\tat a.b(c.java:1)") == "NullPointerException"
    assert readable("") == "no reason is given"
