"""Writer of staging rows with COPY. An invalid row never affects valid rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.catalog.database import Connection, savepoint, sql
from penstock.catalog.errors import RowRefused
from penstock.catalog.staging.copying import CopyRows, Lines, Tuples
from penstock.catalog.staging.rows import Refusal, StagedRow, problem_in, refused
from penstock.catalog.staging.tables import ORIGIN, TableName, columns_of, incoming
from penstock.errors import DatabaseRefused


def stage(connection: Connection, table: TableName, rows: Sequence[StagedRow]) -> list[Refusal]:
    """Write the rows, and leave them in the session's incoming table for the merge.

    Rows whose origin is already stored are not written again. Rejected rows are returned, all others are written,
    without a commit.
    """
    columns = _columns(connection, table, rows)
    problems = [(row, problem_in(row)) for row in rows]
    refusals = [Refusal(row, problem) for row, problem in problems if problem]
    good = [row for row, problem in problems if not problem]
    prepare_incoming(connection, table)
    refusals += _copy(connection, table, Tuples(columns, good))
    _insert(connection, table)
    return refusals


def stage_lines(connection: Connection, table: TableName, lines: Lines) -> list[Refusal]:
    """Write the rows of messages like `stage`, but replace stored rows with an equal origin.

    Replaced rows are identical, unless a topic was recreated or a processor has changed.
    """
    prepare_incoming(connection, table)
    refusals = list(_copy(connection, table, lines))
    try:
        with savepoint(connection):
            _insert_new(connection, table)
    except RowRefused:
        _delete_those_incoming(connection, table)
        _insert(connection, table)
    return refusals


def prepare_incoming(connection: Connection, table: TableName) -> None:
    """Create the session's incoming table, with the checks and defaults of the staging table."""
    command = """
        CREATE TEMP TABLE IF NOT EXISTS {} (LIKE {} INCLUDING CONSTRAINTS INCLUDING DEFAULTS) ON COMMIT DELETE ROWS"""
    names = sql.Identifier(incoming(table)), sql.Identifier(table)
    connection.execute(sql.SQL(command).format(*names))


def _columns(connection: Connection, table: TableName, rows: Sequence[StagedRow]) -> list[str]:
    """Return the columns that the rows use, in the table's order."""
    known = columns_of(connection, table)
    used = {name for row in rows for name in row.values}
    if unknown := used.difference(known) | set(ORIGIN).difference(known):
        raise DatabaseRefused(f"the table {table} lacks the columns {', '.join(sorted(unknown))}")
    return [name for name in known if name in used]


def _copy(connection: Connection, table: TableName, rows: CopyRows) -> Iterator[Refusal]:
    """Copy the rows. If PostgreSQL rejects them, copy each half separately, down to the invalid rows."""
    if not len(rows):
        return
    try:
        with savepoint(connection):
            _copy_all(connection, table, rows)
    except RowRefused as error:
        if len(rows) == 1:
            row = rows.first()
            yield Refusal(row, refused(row, error.message, error.hint))
            return
        middle = len(rows) // 2
        yield from _copy(connection, table, rows.part(0, middle))
        yield from _copy(connection, table, rows.part(middle, len(rows)))


def _copy_all(connection: Connection, table: TableName, rows: CopyRows) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, (*rows.columns, *ORIGIN)))
    command = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(incoming(table)), names)
    with connection.cursor() as cursor, cursor.copy(command) as copy:
        rows.write(copy)


def _insert_new(connection: Connection, table: TableName) -> None:
    """Insert rows, and fail if any already exists. Looking up each row would take as long again."""
    command = sql.SQL("INSERT INTO {} SELECT * FROM {}")
    connection.execute(command.format(sql.Identifier(table), sql.Identifier(incoming(table))))


def _insert(connection: Connection, table: TableName) -> None:
    command = sql.SQL("INSERT INTO {} SELECT * FROM {} ON CONFLICT ({}) DO NOTHING")
    names = sql.Identifier(table), sql.Identifier(incoming(table)), sql.SQL(", ").join(map(sql.Identifier, ORIGIN))
    connection.execute(command.format(*names))


def _delete_those_incoming(connection: Connection, table: TableName) -> None:
    same = sql.SQL(" AND ").join(sql.SQL("kept.{0} = new.{0}").format(sql.Identifier(name)) for name in ORIGIN)
    command = sql.SQL("DELETE FROM {} AS kept USING {} AS new WHERE {}")
    connection.execute(command.format(sql.Identifier(table), sql.Identifier(incoming(table)), same))
