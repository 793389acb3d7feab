"""The merge: what arrived in staging becomes part of the final tables, by set operations over the batch alone."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from penstock.catalog.database import Connection, sql
from penstock.catalog.staging.tables import MERGED
from penstock.catalog.staging.writer import prepare_incoming

_LOCK = 0x6D65726765
"""Merges take turns by this advisory lock, so that the outbox is written in the order of their commits."""

# A batch touches few rows of large tables: look them up, whatever the planner thinks that costs, and never walk along a
# whole index to meet them. The batch is sorted in memory, and a small sample says enough about it.
_PLANNING = b"""
SET LOCAL random_page_cost = 1;
SET LOCAL enable_mergejoin = off;
SET LOCAL work_mem = '64MB';
SET LOCAL default_statistics_target = 10
"""


def merge(connection: Connection) -> None:
    """Merge the rows in the session's incoming tables; nothing is committed here.

    The same rows again, or in another order, give the same final tables. Changes of what the catalog shows are
    written to the outbox.
    """
    prepare_workspace(connection)
    take_turn(connection)
    connection.execute(_PLANNING)
    for step in _steps():
        connection.execute(step)


def take_turn(connection: Connection) -> None:
    """Wait for the merges before; until the end of the transaction no other one begins."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def prepare_workspace(connection: Connection) -> None:
    """Make the tables of the session that a merge works in, if it has none yet."""
    if connection.execute("SELECT to_regclass('pg_temp.batch_job')").fetchone() != (None,):
        return
    for table in MERGED:
        prepare_incoming(connection, table)
    connection.execute(_read("workspace.sql"))


def clear_workspace(connection: Connection) -> None:
    """Empty the tables of the session, for another merge in the same transaction."""
    query = """
        SELECT relname FROM pg_class
        WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r' AND relname ~ '^(incoming|batch)_'"""
    names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in connection.execute(query))
    connection.execute(sql.SQL("TRUNCATE {}").format(names))


@cache
def _steps() -> tuple[bytes, ...]:
    """The statements of the numbered files, in their order."""
    names = sorted(item.name for item in files(__name__).iterdir() if item.name[:2].isdigit())
    return tuple(map(_read, names))


@cache
def _read(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()
