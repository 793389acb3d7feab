"""The sql action against a real PostgreSQL: upserts, types, names and values that bite, broken connections."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import ValidationError

from penstock.actions.builtin.sql import Sql, SqlConfig
from penstock.config import Settings
from penstock.errors import DatabaseRefused, DatabaseUnavailable
from tests.action_context import context, event

Database = psycopg.Connection[Any]


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with psycopg.connect(settings.database.get_secret_value(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def table(database: Database) -> Iterator[str]:
    """A table with an awkward name, which is dropped afterwards."""
    name = f'odd "name" %s {uuid.uuid4().hex[:8]}'
    columns = '"urn" text PRIMARY KEY, "the ""count"" in %" numeric, body jsonb, "%(version)s" bigint'
    database.execute(sql.SQL(f"CREATE TABLE {{}} ({columns})").format(sql.Identifier(name)))
    yield name
    database.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))


COLUMNS = {
    "urn": "entityUrn",
    'the "count" in %': "count",
    "body": "parameters",
    "%(version)s": "meta.kafka.offset",
}


def rows(database: Database, table: str) -> list[tuple[Any, ...]]:
    return database.execute(sql.SQL("SELECT * FROM {} ORDER BY 1").format(sql.Identifier(table))).fetchall()


def make(settings: Settings, table: str, **config: Any) -> Sql:
    return Sql.create({"table": table, "columns": COLUMNS, "key": ["urn"], **config}, context(settings))


def test_a_row_is_written_and_changed_by_the_next_event_of_its_key(
    settings: Settings, database: Database, table: str
) -> None:
    action = make(settings, table)
    action.act(event({"entityUrn": "a", "count": 1, "parameters": {"x": [1, None]}}, offset=1))
    action.act(event({"entityUrn": "b", "count": 2.5}, offset=2))
    action.act(event({"entityUrn": "a", "count": 10**30, "parameters": ["y"]}, offset=3))
    action.close()
    assert rows(database, table) == [("a", 10**30, ["y"], 3), ("b", 2.5, None, 2)]


def test_values_are_bound_and_never_read_as_sql(settings: Settings, database: Database, table: str) -> None:
    nasty = "'); DROP TABLE x; -- %s {} \\ é"
    action = make(settings, table)
    action.act(event({"entityUrn": nasty}))
    action.close()
    assert rows(database, table)[0][0] == nasty


def test_a_row_that_is_there_can_be_left_alone(settings: Settings, database: Database, table: str) -> None:
    action = make(settings, table, on_conflict="nothing")
    for count in (1, 2):
        action.act(event({"entityUrn": "a", "count": count}))
    action.close()
    assert rows(database, table)[0][1] == 1


def test_an_older_event_does_not_overwrite_a_newer_one(settings: Settings, database: Database, table: str) -> None:
    action = make(settings, table, newest="%(version)s")
    for offset in (5, 3, 5, 6):
        action.act(event({"entityUrn": "a", "count": offset}, offset=offset))
        assert rows(database, table)[0][3] == max(5, offset)
    action.close()


def test_a_row_that_the_database_refuses_is_final_and_the_next_one_is_written(
    settings: Settings, database: Database, table: str
) -> None:
    action = make(settings, table)
    for body in ({"entityUrn": None}, {"entityUrn": "a", "count": "many"}, {"entityUrn": "nul\0"}):
        with pytest.raises(DatabaseRefused):
            action.act(event(body))
    action.act(event({"entityUrn": "fine"}))
    action.close()
    assert [row[0] for row in rows(database, table)] == ["fine"]


def test_a_table_that_is_not_there_is_named(settings: Settings) -> None:
    action = make(settings, "public.no_such_table")
    with pytest.raises(DatabaseRefused, match=r'relation "public\.no_such_table" does not exist'):
        action.act(event({"entityUrn": "a"}))
    action.close()


def test_a_connection_that_breaks_is_transient_and_made_anew(
    settings: Settings, database: Database, table: str
) -> None:
    action = make(settings, table)
    action.act(event({"entityUrn": "a"}))
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()",
        [f"INSERT INTO%{table[-8:]}%"],
    )
    with pytest.raises(DatabaseUnavailable):
        action.act(event({"entityUrn": "b"}))
    action.act(event({"entityUrn": "b"}))
    action.close()
    assert [row[0] for row in rows(database, table)] == ["a", "b"]


def test_a_database_that_is_not_there_is_transient_and_its_password_is_not_shown() -> None:
    url = "postgresql://u:hunter2@127.0.0.1:1/d"
    action = Sql.create({"table": "t", "columns": {"a": "b"}, "key": ["a"], "database": url}, context())
    with pytest.raises(DatabaseUnavailable) as failure:
        action.act(event({"b": 1}))
    action.close()
    assert "hunter2" not in str(failure.value)


def test_a_statement_that_takes_too_long_is_given_up(settings: Settings, database: Database, table: str) -> None:
    action = make(settings, table, timeout=0.2)
    with database.transaction():
        database.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table)))
        with pytest.raises(DatabaseUnavailable, match="statement timeout"):
            action.act(event({"entityUrn": "a"}))
    action.close()


def test_many_threads_write_at_once(settings: Settings, database: Database, table: str) -> None:
    action = make(settings, table)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: action.act(event({"entityUrn": f"{number:03}"})), range(200)))
    action.close()
    assert len(rows(database, table)) == 200


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"table": "a.b.c"}, "table"),
        ({"columns": {}}, "columns"),
        ({"columns": {"a": "b +"}}, "columns"),
        ({"key": []}, "key"),
        ({"key": ["nope"]}, ""),
        ({"newest": "nope"}, ""),
        ({"database": "host=x password='hunter2"}, "database"),
        ({"on_conflict": "replace"}, "on_conflict"),
    ],
)
def test_a_wrong_config_is_refused_without_showing_secrets(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as failure:
        SqlConfig.model_validate({"table": "t", "columns": {"a": "b"}, "key": ["a"], **wrong})
    found = failure.value.errors()[0]
    assert (found["loc"][0] if found["loc"] else "") == place
    assert "hunter2" not in found["msg"]
