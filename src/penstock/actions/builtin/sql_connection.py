"""PostgreSQL connections for actions: one per thread, reopened after a failure, with Penstock's errors."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, local

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from penstock.config.database_url import database_url_problem
from penstock.errors import DatabaseRefused, DatabaseUnavailable
from penstock.events.fields import as_plain

_CONNECT_SECONDS = 10
_MS = 1000

Connection = psycopg.Connection[tuple[object, ...]]


def check_database(url: str) -> None:
    """Reject an invalid database URL. psycopg's own message would show the password."""
    if problem := database_url_problem(url):
        raise ValueError(problem)
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ValueError("not a PostgreSQL URL, such as postgresql://user@host:5432/database") from None


class Connections:
    """Executor of one statement, on any thread. Each execution has new values and a separate transaction."""

    def __init__(self, url: str, statement: sql.Composed, timeout: float) -> None:
        self._url = url
        self._statement = statement
        self._timeout = timeout
        self._mine = local()
        self._all: set[Connection] = set()
        self._lock = Lock()

    def execute(self, values: Sequence[object]) -> None:
        """Execute and commit. DatabaseUnavailable can be retried, DatabaseRefused cannot."""
        bound = [_bound(value) for value in values]
        try:
            self._connection().execute(self._statement, bound, prepare=True)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._forget()
            reason = _reason(error)
            raise DatabaseUnavailable(f"PostgreSQL: {reason}", hint="does it run, and is the URL right?") from error
        except psycopg.Error as error:
            raise DatabaseRefused(f"PostgreSQL: {_reason(error)}", sqlstate=error.sqlstate) from error

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
            limit = sql.SQL("SET statement_timeout = {}").format(int(self._timeout * _MS))
            connection.execute(limit)
            self._mine.connection = connection
            with self._lock:
                self._all.add(connection)
        return connection

    def _forget(self) -> None:
        connection: Connection | None = getattr(self._mine, "connection", None)
        if connection is not None:
            self._mine.connection = None
            connection.close()
            with self._lock:
                self._all.discard(connection)


def _bound(value: object) -> object:
    """Return maps and lists as JSON, other values unchanged."""
    return Jsonb(as_plain(value)) if isinstance(value, dict | list) else value


def _reason(error: psycopg.Error) -> str:
    """Return the first line of the message from the server or libpq."""
    return (error.diag.message_primary or str(error)).strip().partition("\n")[0]
