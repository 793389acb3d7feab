"""Retention: rows of staging that are old are removed; what they said stays in the final tables."""

from __future__ import annotations

from datetime import datetime

from penstock.catalog.database import Database, sql
from penstock.catalog.staging.tables import MERGED, TableName

_NOTE = """
INSERT INTO staging_pruned AS p (table_name, row_count, until) VALUES (%s, %s, %s)
ON CONFLICT (table_name) DO UPDATE
SET row_count = p.row_count + EXCLUDED.row_count, until = greatest(p.until, EXCLUDED.until)
"""


def prune(database: Database, before: datetime) -> dict[TableName, int]:
    """Remove the rows of events from before this moment; how many of each table."""
    return {table: _prune(database, table, before) for table in MERGED}


def _prune(database: Database, table: TableName, before: datetime) -> int:
    command = sql.SQL("DELETE FROM {} WHERE log_event_time < %s").format(sql.Identifier(table))
    with database.transaction() as connection:
        count = connection.execute(command, [round(before.timestamp() * 1000)]).rowcount
        if count:
            connection.execute(_NOTE, [table, count, before])
    return count
