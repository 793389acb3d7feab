"""What the benchmarks of the catalog share: a database of their own, and bare COPY of rows that are there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from pydantic import SecretStr

from penstock.catalog.database import Database
from penstock.config import Settings, load_settings


@contextmanager
def own_database() -> Iterator[Settings]:
    """The settings with a new database, which is dropped afterwards."""
    settings, name = load_settings().settings, f"bench_{uuid.uuid4().hex[:8]}"
    administer(settings, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield at_database(settings, name)
    finally:
        administer(settings, sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def at_database(settings: Settings, name: str) -> Settings:
    """The same server, another database."""
    url = urlsplit(settings.database.get_secret_value())
    return settings.model_copy(update={"database": SecretStr(urlunsplit(url._replace(path=f"/{name}")))})


def administer(settings: Settings, statement: sql.Composed) -> None:
    """Run a statement outside of every transaction."""
    with psycopg.connect(settings.database.get_secret_value(), autocommit=True) as connection:
        connection.execute(statement)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def bare_copy_seconds(database: Database, written: Mapping[str, str]) -> float:
    """How long bare COPY takes for the rows of each table that meet its condition, into an empty table like it."""
    return sum(_copy_seconds(database, table, copied_out(database, table, where)) for table, where in written.items())


def _copy_seconds(database: Database, table: str, rows: bytes) -> float:
    """The new table has the indexes and checks of the one that it is like."""
    with database.transaction() as connection:
        connection.execute(f"CREATE TABLE bare_{table} (LIKE {table} INCLUDING ALL)".encode())

    def copy() -> None:
        command = f"COPY bare_{table} FROM STDIN".encode()
        with database.transaction() as connection, connection.cursor() as cursor, cursor.copy(command) as sink:
            sink.write(rows)

    took = seconds(copy)
    with database.transaction() as connection:
        connection.execute(f"DROP TABLE bare_{table}".encode())
    return took


def copied_out(database: Database, table: str, condition: str = "true") -> bytes:
    """Rows of a table in COPY's text format."""
    command = f"COPY (SELECT * FROM {table} WHERE {condition}) TO STDOUT".encode()  # noqa: S608 - the benchmark's own
    with database.transaction() as connection, connection.cursor() as cursor, cursor.copy(command) as source:
        return b"".join(bytes(part) for part in source)


def answer(database: Database, query: str) -> list[tuple[int, ...]]:
    """The rows of a query."""
    with database.transaction() as connection:
        return connection.execute(query.encode()).fetchall()
