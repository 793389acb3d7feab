"""The way of a batch: into staging and into the final tables, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.database import Database
from penstock.catalog.merge import merge
from penstock.catalog.staging.rows import Refusal, StagedRow
from penstock.catalog.staging.tables import MERGED, TableName
from penstock.catalog.staging.writer import stage


def take(database: Database, table: TableName, rows: Sequence[StagedRow]) -> list[Refusal]:
    """Stage the rows and merge them; the ones refused come back, and the rest is committed when this returns.

    After a crash, or any exception, the same rows can be given again: what was committed changes nothing.
    """
    with database.transaction() as connection:
        refusals = stage(connection, table, rows)
        if table in MERGED:
            merge(connection)
    return refusals
