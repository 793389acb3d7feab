"""The statement of the sql action as psycopg sends it; names of tables and columns may be anything."""

from __future__ import annotations

import pytest
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer

from penstock.actions.builtin.sql_upsert import Upsert


def sent(upsert: Upsert) -> str:
    """The statement that reaches PostgreSQL, with the values bound."""
    query = PostgresQuery(Transformer())
    query.convert(upsert.statement(), [0] * len(upsert.columns))
    return query.query.decode()


@pytest.mark.parametrize("name", ["50%", "%s", "%(x)s", "%%", 'a "quoted" %', "{0}", "100 % sure"])
def test_names_reach_postgresql_as_they_are(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    statement = sent(Upsert(name, ["id", name], ["id"], newest=name))
    assert statement == (
        f'INSERT INTO {quoted} ("id", {quoted}) VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET '  # noqa: S608 - compared only
        f"{quoted} = excluded.{quoted} WHERE {quoted}.{quoted} IS NULL OR excluded.{quoted} >= {quoted}.{quoted}"
    )
