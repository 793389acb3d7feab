"""Rebuild of the final tables from staging, in one transaction. Readers see the old tables until the commit."""

from __future__ import annotations

from typing import Final

from penstock.catalog.database import Connection, Database, sql
from penstock.catalog.errors import StagingIncomplete
from penstock.catalog.merge import clear_workspace, merge, prepare_workspace, take_turn
from penstock.catalog.staging.tables import MERGED, ORIGIN, TableName, incoming

FINAL_TABLES: Final = (
    *("dataset", "dataset_search", "dataset_schema", "dataset_owner", "dataset_tag", "dataset_lineage"),
    *("dataset_load_status", "job_execution", "observation", "observed_value"),
)

CHUNK = 50_000
"""Number of rows to merge at once."""

_KEEP_SHOWN = "CREATE TEMP TABLE shown_before ON COMMIT DROP AS SELECT urn, aspect, value FROM dataset_aspect"

# Changes in the visible state are published like any other change. Changes that only happened again are not.
_TELL = """
INSERT INTO outbox (urn, aspect, before, after, event_time)
SELECT coalesce(a.urn, b.urn), coalesce(a.aspect, b.aspect), b.value, a.value, now()
FROM shown_before b FULL JOIN dataset_aspect a ON a.urn = b.urn AND a.aspect = b.aspect
WHERE looks_different(coalesce(a.aspect, b.aspect), b.value, a.value) ORDER BY 1, a.position
"""


def rebuild(database: Database, *, although_incomplete: bool = False) -> int:
    """Empty the final tables and merge all of staging into them. Return the number of merged rows.

    Raise StagingIncomplete if retention has removed rows, unless `although_incomplete` accepts the loss of their data.
    """
    with database.transaction() as connection:
        take_turn(connection)
        if not although_incomplete:
            _refuse_incomplete(connection)
        connection.execute(_KEEP_SHOWN)
        last_told = connection.execute("SELECT coalesce(max(id), 0) FROM outbox").fetchone()
        for table in FINAL_TABLES:
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        count = merge_staging(connection)
        connection.execute("DELETE FROM outbox WHERE id > %s", last_told)
        connection.execute(_TELL)
        # The final tables contain nothing beyond staging from now on.
        connection.execute("DELETE FROM staging_pruned")
    return count


def merge_staging(connection: Connection) -> int:
    """Merge every row of staging in chunks. Has no effect on final tables that are complete."""
    prepare_workspace(connection)
    return sum(_merge_table(connection, table) for table in MERGED)


def _merge_table(connection: Connection, table: TableName) -> int:
    total = 0
    last: tuple[object, ...] = ("", -1, -1)
    while count := _fetch(connection, table, last):
        last = _last(connection, table)
        merge(connection)
        clear_workspace(connection)
        total += count
    return total


def _fetch(connection: Connection, table: TableName, after: tuple[object, ...]) -> int:
    command = sql.SQL("INSERT INTO {} SELECT * FROM {} WHERE ({origin}) > (%s, %s, %s) ORDER BY {origin} LIMIT {limit}")
    names = sql.Identifier(incoming(table)), sql.Identifier(table)
    query = command.format(*names, origin=_origin(), limit=sql.Literal(CHUNK))
    return connection.execute(query, after).rowcount


def _last(connection: Connection, table: TableName) -> tuple[object, ...]:
    query = sql.SQL("SELECT {origin} FROM {} ORDER BY ({origin}) DESC LIMIT 1")
    found = connection.execute(query.format(sql.Identifier(incoming(table)), origin=_origin())).fetchone()
    return found or ()


def _origin() -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, ORIGIN))


def _refuse_incomplete(connection: Connection) -> None:
    found = connection.execute("SELECT sum(row_count), max(until) FROM staging_pruned").fetchone()
    if found and found[0]:
        raise StagingIncomplete(
            f"retention removed {found[0]:,} rows from before {found[1]:%Y-%m-%d} from staging",
            hint="add --although-incomplete to forget what they said; --from kafka reads again what Kafka still has",
        )
