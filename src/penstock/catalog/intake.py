"""The way of a batch: into staging and into the final tables, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.database import Database
from penstock.catalog.errors import RowRefused
from penstock.catalog.merge import merge
from penstock.catalog.staging.copying import Lines
from penstock.catalog.staging.rows import Refusal, StagedRow, refused
from penstock.catalog.staging.tables import MERGED, TableName
from penstock.catalog.staging.writer import stage, stage_lines


def take(database: Database, table: TableName, rows: Sequence[StagedRow]) -> list[Refusal]:
    """Stage the rows and merge them; the ones refused come back, and the rest is committed when this returns.

    After a crash, or any exception, the same rows can be given again: what was committed changes nothing.
    """
    with database.transaction() as connection:
        refusals = stage(connection, table, rows)
        if table in MERGED:
            merge(connection)
    return refusals


def take_lines(database: Database, table: TableName, lines: Lines) -> list[Refusal]:
    """Take rows of messages as `take` does; where a merge fails by a row, all others are taken all the same."""
    try:
        with database.transaction() as connection:
            refusals = stage_lines(connection, table, lines)
            if table in MERGED:
                merge(connection)
    except RowRefused as error:
        if len(lines) == 1:
            row = lines.first()
            return [Refusal(row, refused(row, error.message, error.hint))]
        middle = len(lines) // 2
        halves = lines.part(0, middle), lines.part(middle, len(lines))
        return [refusal for half in halves for refusal in take_lines(database, table, half)]
    return refusals
