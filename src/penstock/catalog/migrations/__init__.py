"""Migrations of the catalog's tables: numbered SQL files, each applied once."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from penstock.catalog.database import Connection, sql
from penstock.errors import DatabaseRefused

_LOCK = 0x70656E73746F636B
"""Advisory lock held during a migration, so that two processes never migrate at once."""


class Migration(NamedTuple):
    """One migration: number, file name and statements."""

    number: int
    name: str
    statements: str


def migrations() -> list[Migration]:
    """Return all migrations in order."""
    found = (item for item in files(__name__).iterdir() if item.name.endswith(".sql"))
    steps = (Migration(int(item.name[:3]), item.name, item.read_text(encoding="utf-8")) for item in found)
    return sorted(steps)


def migrate(connection: Connection, schema: str) -> list[str]:
    """Apply the missing migrations in one transaction. Return the names of the applied migrations."""
    known = migrations()
    if _version(connection, schema) == known[-1].number:
        return []
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    _prepare(connection, schema)
    version = _version(connection, schema)
    if version > known[-1].number:
        raise DatabaseRefused(
            f"the catalog's tables have version {version}, this Penstock knows {known[-1].number}",
            hint="upgrade Penstock, or name another database with PENSTOCK_DATABASE",
        )
    missing = [step for step in known if step.number > version]
    for step in missing:
        connection.execute(step.statements.encode())
        connection.execute("INSERT INTO migration (number, name) VALUES (%s, %s)", [step.number, step.name])
    return [step.name for step in missing]


def _prepare(connection: Connection, schema: str) -> None:
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(schema)))
    connection.execute("""
        CREATE TABLE IF NOT EXISTS migration (
            number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())""")


def _version(connection: Connection, schema: str) -> int:
    """Return the number of the last applied migration, 0 for a database without the catalog."""
    table = f"{schema}.migration"
    if connection.execute("SELECT to_regclass(%s)", [table]).fetchone() == (None,):
        return 0
    found = connection.execute(
        sql.SQL("SELECT max(number) FROM {}").format(sql.Identifier(schema, "migration"))
    ).fetchone()
    return int(found[0] or 0) if found else 0
