"""Access to the catalog's PostgreSQL. Imports psycopg for the whole room and translates its errors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import msgspec
import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, TupleRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import ConnectionPool, PoolTimeout

from penstock.catalog.errors import RowRefused
from penstock.config import Settings
from penstock.errors import ConfigError, DatabaseRefused, DatabaseUnavailable, PenstockError, Problem

__all__ = ["Connection", "Copy", "Database", "Record", "name_beside_values", "records", "savepoint", "sql", "streamed"]

Connection = psycopg.Connection[TupleRow]
Copy = psycopg.Copy
Record = DictRow
Parameters = Sequence[object] | Mapping[str, object]

SCHEMA = "catalog"

_CONNECT_SECONDS = 10
_REFUSALS = ("authentication failed", "no password supplied", "does not exist")
_ROW_CLASSES = ("21", "22", "23", "54")
"""SQLSTATE classes caused by the data: cardinality, data, integrity, program limits."""

_TRANSIENT = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.InsufficientResources,
)


class Database:
    """Connection pool for the catalog's tables. A user's own tables are found in `public`.

    `transaction` commits at the end of the block and rolls back on an exception. PostgreSQL errors are raised as
    DatabaseUnavailable (can be retried), as DatabaseRefused, or as RowRefused if the data is invalid.
    """

    def __init__(self, settings: Settings, *, size: int = 4) -> None:
        self._conninfo = settings.database.get_secret_value()
        self._timeout = settings.timeout
        self.place = _place(self._conninfo)
        self.migrated: list[str] = []
        self._pool = ConnectionPool[Connection](
            self._conninfo,
            min_size=0,
            max_size=size,
            open=False,
            timeout=self._timeout,
            configure=_configure,
            check=ConnectionPool.check_connection,
            kwargs={"connect_timeout": _CONNECT_SECONDS},
        )

    def open(self) -> Self:
        """Connect once, to report a wrong address with its reason, and migrate the tables."""
        from penstock.catalog.migrations import migrate  # noqa: PLC0415 - the migrations import this module

        with self._told(), psycopg.connect(self._conninfo, connect_timeout=_CONNECT_SECONDS) as connection:
            self.migrated = migrate(connection, SCHEMA)
        self._pool.open()
        return self

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def __enter__(self) -> Self:
        """Open the pool. The context manager closes the pool at its end."""
        return self.open()

    def __exit__(self, *_: object) -> None:
        """Close the pool."""
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Return a connection whose work is committed at the end of the block, or not at all."""
        with self._told(), self._pool.connection() as connection:
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeout:
            raise self._unavailable("no connection could be had in time") from None
        except psycopg.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: psycopg.Error) -> PenstockError:
        is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if is_lost and not _is_refusal(error) and not _blames_data(error):
            return self._unavailable(_first_line(error))
        return translated(error, self.place)

    def _unavailable(self, reason: str) -> DatabaseUnavailable:
        hint = "is it running? `penstock status` shows the local one; PENSTOCK_DATABASE names another"
        return DatabaseUnavailable(f"the database {self.place} does not answer: {reason}", hint=hint)


@contextmanager
def savepoint(connection: Connection) -> Iterator[None]:
    """Run a part of a transaction that can fail alone. RowRefused undoes this part and keeps earlier work."""
    try:
        with connection.transaction():
            yield
    except (psycopg.DataError, psycopg.IntegrityError, errors.ProgramLimitExceeded) as error:
        raise translated(error, "the database") from error


def translated(error: psycopg.Error, place: str) -> PenstockError:
    """Translate an error of PostgreSQL. Errors caused by the data become RowRefused."""
    reason = _first_line(error)
    if isinstance(error, _TRANSIENT):
        return DatabaseUnavailable(f"{place}: {reason}", hint="the same work may succeed when it is tried again")
    if _blames_data(error):
        return RowRefused(f"PostgreSQL refuses the row: {reason}", hint=_detail(error))
    return DatabaseRefused(f"{place}: {reason}", hint=_detail(error))


def name_beside_values(name: str) -> sql.Composable:
    """Return a quoted name for a statement with placeholders, in which psycopg requires `%` to be doubled."""
    quoted = sql.Identifier(name).as_string()
    return sql.SQL(quoted.replace("%", "%%"))


def records(connection: Connection, query: str, parameters: Parameters = ()) -> list[Record]:
    """Return the rows of a query as dicts. The query is planned for these parameters, without a generic plan."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode(), parameters, prepare=False).fetchall()


def streamed(connection: Connection, query: str, parameters: Parameters = ()) -> Generator[Record]:
    """Yield the rows of a query as they are read. Closing the generator early ends the query."""
    with connection.cursor("streamed", row_factory=dict_row) as cursor:
        yield from cursor.execute(query.encode(), parameters)


def _configure(connection: Connection) -> None:
    set_json_loads(msgspec.json.decode, connection)
    connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(SCHEMA)))
    connection.execute("SET timezone = 'UTC'")
    connection.execute("SET temp_buffers = '32MB'")  # keep a batch in memory during the merge
    connection.commit()


def _blames_data(error: psycopg.Error) -> bool:
    """Whether a row caused the error. psycopg reports program limits as operational errors, which would be retried."""
    return isinstance(error, psycopg.DataError) or (error.sqlstate or "")[:2] in _ROW_CLASSES


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether a running server refuses access: wrong password, unknown database, missing permission."""
    return (error.sqlstate or "")[:2] in {"28", "3D", "42"} or any(sign in str(error) for sign in _REFUSALS)


def _place(conninfo: str) -> str:
    try:
        known: dict[str, Any] = dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError:
        # libpq's message quotes the text, including the password.
        hint = "such as postgresql://user@host:5432/database"
        raise ConfigError([Problem("database", "not a PostgreSQL URL", hint)]) from None
    user, host, port = (
        known.get(key, default) for key, default in (("user", ""), ("host", "localhost"), ("port", 5432))
    )
    return f"postgresql://{user}@{host}:{port}/{known.get('dbname', '')}"


def _first_line(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error)).strip().split("\n")[0]


def _detail(error: psycopg.Error) -> str:
    """Return PostgreSQL's hint or constraint, but never the row, which may be large or secret."""
    return error.diag.message_hint or (f"see {error.diag.constraint_name}" if error.diag.constraint_name else "")
