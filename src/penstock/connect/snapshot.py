"""Consistent snapshot of a PostgreSQL database, readable for the length of a block."""

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
# Transaction ids in the log and in Debezium's messages wrap around at this number.
_TX_NUMBERS = 2**32
# More than running transactions ever span. Ids further ahead are old ids, from before the last wraparound.
_TX_AHEAD = 2**24
_TEXT = {
    "bytea": "encode({}, 'hex')",
    # Currency symbol and separators depend on the server's locale.
    "money": "{}::numeric::text",
    "hstore": "{}::json::text",
    # The cast would keep the encoding declaration in the text, which readers of the column never see.
    "xml": "xml_out({})::text",
    "time": "CASE WHEN {0} = '24:00' THEN '24:00:00.000000' ELSE to_char({0}, 'HH24:MI:SS.US') END",
}
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class SourceColumn:
    """Column of a table: type name (of the items for arrays), and whether the type is an enum.

    PostgreSQL does not send the values of generated columns.
    """

    name: str
    type: str
    is_array: bool
    is_enum: bool
    is_generated: bool = False


@dataclass(frozen=True)
class Moment:
    """Time of a snapshot: the log position shortly before, and the transactions in progress.

    `open` contains the unfinished transactions below `limit`. All transactions from `limit` on are unfinished too.
    """

    lsn: int
    open: frozenset[int]
    limit: int

    def sees(self, lsn: int, tx: int | None) -> bool:
        """Whether the snapshot contains a change.

        All other changes were committed after the snapshot, regardless of their log positions.
        """
        return lsn < self.lsn and (tx is None or not self._is_open(tx % _TX_NUMBERS))

    def _is_open(self, tx: int) -> bool:
        return tx in self.open or (tx - self.limit) % _TX_NUMBERS < _TX_AHEAD


class Snapshot:
    """Snapshot of a database. Rows are returned as text, without loss."""

    def __init__(self, connection: psycopg.Connection[Any], shown: str, lsn: int) -> None:
        self._connection = connection
        self._shown = shown
        [(limit, running)] = self._rows(_TRANSACTIONS)
        self.moment = Moment(lsn, frozenset(int(tx) % _TX_NUMBERS for tx in running), int(limit) % _TX_NUMBERS)

    def columns(self, table: TableName) -> list[SourceColumn]:
        """Return the columns of a table."""
        return [SourceColumn(*row) for row in self._rows(_COLUMNS, _quoted(table))]

    def keys(self, table: TableName) -> list[str]:
        """Return the primary key columns of a table."""
        return [name for (name,) in self._rows(_KEYS, _quoted(table))]

    def rows(self, table: TableName, columns: Sequence[SourceColumn]) -> Iterator[tuple[str | None, ...]]:
        """Yield every row of a table, each value as text."""
        chosen = sql.SQL(", ").join(_as_text(column) for column in columns)
        [(is_partitioned,)] = self._rows(_IS_PARTITIONED, _quoted(table))
        # Rows of INHERITS children are captured with the child tables. Rows of partitions belong to the table.
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
    """Return the current end of the server's log."""
    with open_connection(url) as (connection, shown), database_failures(shown):
        [(end,)] = connection.execute(_LSN).fetchall()
        return int(end)


@contextmanager
def open_snapshot(url: str) -> Iterator[Snapshot]:
    """Open a snapshot of the database for the length of a block."""
    with open_connection(url) as (connection, shown), database_failures(shown):
        for setting in _SETTINGS:
            connection.execute(sql.SQL("SET " + setting))
        # Read the position before the snapshot: a transaction that starts later and is invisible has only later
        # changes.
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
