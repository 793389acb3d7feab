"""What the benchmarks of the catalog share: a database of their own, and bare COPY of rows that are there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from pydantic import SecretStr

from penstock.catalog.database import Database
from penstock.config import Settings, load_settings

BATCH = 100_000
"""So many rows are committed at once, as a job does it."""


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


def bare_copy_seconds(database: Database, written: Mapping[str, str], rounds: int = 1) -> float:
    """How long bare COPY takes for the rows of each table that meet its condition, into an empty table like it.

    Rows come in the order in which they were written, and are committed as often as a job commits. The median of the
    rounds counts: the first ones are often slower than those after them, which would make the ceiling too low.
    """
    parts = ((table, copied_out(database, table, where)) for table, where in written.items())
    return sum(median(_copy_seconds(database, table, rows) for _ in range(rounds)) for table, rows in parts)


def _copy_seconds(database: Database, table: str, parts: Sequence[bytes]) -> float:
    """The new table has the indexes and checks of the one that it is like."""
    with database.transaction() as connection:
        connection.execute(f"CREATE TABLE bare_{table} (LIKE {table} INCLUDING ALL)".encode())

    def copy() -> None:
        for part in parts:
            copy_in(database, f"bare_{table}", part)

    took = seconds(copy)
    with database.transaction() as connection:
        connection.execute(f"DROP TABLE bare_{table}".encode())
    return took


def copy_in(database: Database, table: str, rows: bytes) -> None:
    """Write rows in COPY's text format, and commit them."""
    command = f"COPY {table} FROM STDIN".encode()
    with database.transaction() as connection, connection.cursor() as cursor, cursor.copy(command) as sink:
        sink.write(rows)


def copied_out(database: Database, table: str, condition: str = "true") -> list[bytes]:
    """Rows of a table in COPY's text format, in parts of `BATCH` rows."""
    command = f"COPY (SELECT * FROM {table} WHERE {condition}) TO STDOUT".encode()  # noqa: S608 - the benchmark's own
    with database.transaction() as connection, connection.cursor() as cursor, cursor.copy(command) as source:
        rows = map(bytes, source)
        return list(iter(lambda: b"".join(islice(rows, BATCH)), b""))


def answer(database: Database, query: str) -> list[tuple[int, ...]]:
    """The rows of a query."""
    with database.transaction() as connection:
        return connection.execute(query.encode()).fetchall()
