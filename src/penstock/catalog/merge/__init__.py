"""Merge of staged rows into the final tables, by set operations over the batch alone."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from penstock.catalog.database import Connection, sql
from penstock.catalog.staging.tables import MERGED
from penstock.catalog.staging.writer import prepare_incoming

_LOCK = 0x6D65726765
"""Advisory lock that serializes merges, so that the outbox is in commit order."""

# A batch touches few rows of large tables. Use index lookups, whatever the planner estimates, and never scan an
# entire index. The batch is sorted in memory, and a small sample describes it well enough.
_PLANNING = b"""
SET LOCAL random_page_cost = 1;
SET LOCAL enable_mergejoin = off;
SET LOCAL work_mem = '64MB';
SET LOCAL default_statistics_target = 10
"""


def merge(connection: Connection) -> None:
    """Merge the rows in the session's incoming tables, without a commit.

    Merging rows again, or in a different order, gives equal final tables. Visible changes of the catalog are written to
    the outbox.
    """
    prepare_workspace(connection)
    take_turn(connection)
    connection.execute(_PLANNING)
    for step in _steps():
        connection.execute(step)


def take_turn(connection: Connection) -> None:
    """Wait for running merges, and block others until the end of the transaction."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def prepare_workspace(connection: Connection) -> None:
    """Create the session's work tables for a merge, if missing."""
    if connection.execute("SELECT to_regclass('pg_temp.batch_job')").fetchone() != (None,):
        return
    for table in MERGED:
        prepare_incoming(connection, table)
    connection.execute(_read("workspace.sql"))


def clear_workspace(connection: Connection) -> None:
    """Empty the session's work tables, for the next merge in the same transaction."""
    query = """
        SELECT relname FROM pg_class
        WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r' AND relname ~ '^(incoming|batch)_'"""
    names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in connection.execute(query))
    connection.execute(sql.SQL("TRUNCATE {}").format(names))


@cache
def _steps() -> tuple[bytes, ...]:
    """Return the statements of the numbered files, in order."""
    names = sorted(item.name for item in files(__name__).iterdir() if item.name[:2].isdigit())
    return tuple(map(_read, names))


@cache
def _read(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()
