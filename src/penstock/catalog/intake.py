"""Intake of a batch: into staging and the final tables, in one transaction."""

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
    """Stage the rows, merge and commit. Return the rejected rows.

    After a crash or an exception, the caller can pass the rows again: rows that were committed have no further effect.
    """
    with database.transaction() as connection:
        refusals = stage(connection, table, rows)
        if table in MERGED:
            merge(connection)
    return refusals


def take_lines(database: Database, table: TableName, lines: Lines) -> list[Refusal]:
    """Store rows of messages like `take`. If the merge fails on a row, all other rows are still stored."""
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
