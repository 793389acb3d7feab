"""A table as it was at one moment, for as long as one wants to look at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from penstock.connect.postgres import TableName, database_failures, open_connection

Key = tuple[str | None, ...]

_COLUMNS = """
SELECT a.attname::text, coalesce(e.typname, t.typname)::text, e.typname IS NOT NULL,
       coalesce(e.typtype, t.typtype)::text = 'e', a.attgenerated <> ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEYS = """
SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = %s::regclass AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)
"""
_IS_PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass"
_LSN = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_TRANSACTIONS = """
SELECT pg_snapshot_xmax(now)::text, ARRAY(SELECT id::text FROM pg_snapshot_xip(now) AS id)
FROM pg_current_snapshot() AS now
"""
_SETTINGS = ("TIME ZONE 'UTC'", "DateStyle = 'ISO'", "IntervalStyle = 'iso_8601'")
# What the log and Debezium know of a transaction's number begins anew after so many.
_TX_NUMBERS = 2**32
# More than running transactions ever use between them; numbers further ahead are old ones, from before the last round.
_TX_AHEAD = 2**24
_TEXT = {
    "bytea": "encode({}, 'hex')",
    # Currency and separators are the server's taste.
    "money": "{}::numeric::text",
    "hstore": "{}::json::text",
    # The cast leaves an encoding in the text, which nobody who reads the column gets to see.
    "xml": "xml_out({})::text",
    "time": "CASE WHEN {0} = '24:00' THEN '24:00:00.000000' ELSE to_char({0}, 'HH24:MI:SS.US') END",
}
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class SourceColumn:
    """A column of a table: its type's name, that of its items if it is an array, and whether that is an enum.

    Values of generated columns are not sent by PostgreSQL.
    """

    name: str
    type: str
    is_array: bool
    is_enum: bool
    is_generated: bool = False


@dataclass(frozen=True)
class Moment:
    """When a database was looked at: where its log was just before, and which transactions had not ended.

    Those are some below `limit`, and all from there on.
    """

    lsn: int
    open: frozenset[int]
    limit: int

    def sees(self, lsn: int, tx: int | None) -> bool:
        """Whether a change was there to be seen; one that is not was committed later, wherever it is in the log."""
        return lsn < self.lsn and (tx is None or not self._is_open(tx % _TX_NUMBERS))

    def _is_open(self, tx: int) -> bool:
        return tx in self.open or (tx - self.limit) % _TX_NUMBERS < _TX_AHEAD


class Snapshot:
    """One database at one moment; rows come as text, in which nothing is lost."""

    def __init__(self, connection: psycopg.Connection[Any], shown: str, lsn: int) -> None:
        self._connection = connection
        self._shown = shown
        [(limit, running)] = self._rows(_TRANSACTIONS)
        self.moment = Moment(lsn, frozenset(int(tx) % _TX_NUMBERS for tx in running), int(limit) % _TX_NUMBERS)

    def columns(self, table: TableName) -> list[SourceColumn]:
        """The columns of a table."""
        return [SourceColumn(*row) for row in self._rows(_COLUMNS, _quoted(table))]

    def keys(self, table: TableName) -> list[str]:
        """The columns of its primary key."""
        return [name for (name,) in self._rows(_KEYS, _quoted(table))]

    def rows(self, table: TableName, columns: Sequence[SourceColumn]) -> Iterator[tuple[str | None, ...]]:
        """Every row, each value as text."""
        chosen = sql.SQL(", ").join(_as_text(column) for column in columns)
        [(is_partitioned,)] = self._rows(_IS_PARTITIONED, _quoted(table))
        # Rows of tables that inherit are changes of these tables; those of partitions are the table's own.
        rows = sql.SQL("SELECT {} FROM {}" if is_partitioned else "SELECT {} FROM ONLY {}")
        query = rows.format(chosen, sql.Identifier(*table))
        with database_failures(self._shown), self._connection.cursor("penstock_rows", row_factory=tuple_row) as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(query)
            yield from cursor

    def _rows(self, query: str, *values: object) -> list[Any]:
        with database_failures(self._shown):
            return self._connection.cursor(row_factory=tuple_row).execute(query, values or None).fetchall()


def log_end(url: str) -> int:
    """The end of the server's log now."""
    with open_connection(url) as (connection, shown), database_failures(shown):
        [(end,)] = connection.execute(_LSN).fetchall()
        return int(end)


@contextmanager
def open_snapshot(url: str) -> Iterator[Snapshot]:
    """Hold a database at this moment for the length of a block."""
    with open_connection(url) as (connection, shown), database_failures(shown):
        for setting in _SETTINGS:
            connection.execute(sql.SQL("SET " + setting))
        # Read first: a transaction that began after it, and is not seen, has changes only behind it.
        [(lsn,)] = connection.execute(_LSN).fetchall()
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Snapshot(connection, shown, lsn)


def _as_text(column: SourceColumn) -> sql.Composable:
    name = sql.Identifier(column.name)
    if column.is_array:
        return sql.SQL("array_to_json({})::text").format(name)
    return sql.SQL(_TEXT.get(column.type, "{}::text")).format(name)


def _quoted(table: TableName) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table)
