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
       coalesce(e.typtype, t.typtype)::text = 'e'
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEYS = """
SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = %s::regclass AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)
"""
_TEXT = {
    "bytea": "encode({}, 'hex')",
    "time": "CASE WHEN {0} = '24:00' THEN '24:00:00.000000' ELSE to_char({0}, 'HH24:MI:SS.US') END",
}
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class SourceColumn:
    """A column of a table: its type's name, that of its items if it is an array, and whether that is an enum."""

    name: str
    type: str
    is_array: bool
    is_enum: bool


class Snapshot:
    """One database at one moment: `lsn` is where its log was; rows come as text, in which nothing is lost."""

    def __init__(self, connection: psycopg.Connection[Any], shown: str) -> None:
        self._connection = connection
        self._shown = shown
        [(self.lsn,)] = self._rows("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")

    def columns(self, table: TableName) -> list[SourceColumn]:
        """The columns of a table."""
        return [SourceColumn(*row) for row in self._rows(_COLUMNS, _quoted(table))]

    def keys(self, table: TableName) -> list[str]:
        """The columns of its primary key."""
        return [name for (name,) in self._rows(_KEYS, _quoted(table))]

    def rows(self, table: TableName, columns: Sequence[SourceColumn]) -> Iterator[tuple[str | None, ...]]:
        """Every row, each value as text."""
        chosen = sql.SQL(", ").join(_as_text(column) for column in columns)
        query = sql.SQL("SELECT {} FROM {}").format(chosen, sql.Identifier(*table))
        with database_failures(self._shown), self._connection.cursor("penstock_rows", row_factory=tuple_row) as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(query)
            yield from cursor

    def _rows(self, query: str, *values: object) -> list[Any]:
        with database_failures(self._shown):
            return self._connection.cursor(row_factory=tuple_row).execute(query, values or None).fetchall()


@contextmanager
def open_snapshot(url: str) -> Iterator[Snapshot]:
    """Hold a database at this moment for the length of a block."""
    with open_connection(url) as (connection, shown), database_failures(shown):
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute("SET DateStyle = 'ISO'")
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Snapshot(connection, shown)


def _as_text(column: SourceColumn) -> sql.Composable:
    name = sql.Identifier(column.name)
    if column.is_array:
        return sql.SQL("array_to_json({})::text").format(name)
    return sql.SQL(_TEXT.get(column.type, "{}::text")).format(name)


def _quoted(table: TableName) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table)
