"""Random tables of PostgreSQL whose keys, types, names and values are chosen to be hard, and random work on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg import sql

TEXTS = ("${user.home}", "a${x:y}b", "'; --", "\\", "`", "line\nline", '"}', ":low", "ü漢🙂", "", "007", "7", "NULL")
LAST_MOMENT = "9999-12-31 23:59:59.999999"
MOMENTS = ("infinity", "-infinity", "2026-01-01 00:00:00.123456", "2026-01-01 00:00:00.123457", "0001-01-01 00:00:00")
VALUES: Mapping[str, tuple[str, ...]] = {
    "int": ("0", "-7", "2147483647", "-2147483648"),
    "bigint": ("0", "7", "9223372036854775807", "-9223372036854775808"),
    "smallint": ("0", "7", "-32768"),
    "numeric(20)": ("0", "-7", "99999999999999999999", "NaN"),
    "numeric(9,2)": ("0", "-1.50", "9999999.99", "NaN"),
    "numeric": ("0", "1.500", "-1e-20", "12345678901234567890123456789012345678901234567890", "NaN"),
    "real": ("0.1", "NaN", "-Infinity", "3e38"),
    "double precision": ("0.1", "-0.5", "NaN", "Infinity", "1e300", "5e-324"),
    "boolean": ("true", "false"),
    "text": TEXTS,
    "varchar(20)": TEXTS,
    "uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "timestamp": (*MOMENTS, LAST_MOMENT, "12026-05-06 07:08:09.5"),
    "timestamptz": tuple(f"{each}+00" if each[0].isdigit() else each for each in (*MOMENTS, LAST_MOMENT)),
    "date": ("2026-02-28", "0001-01-01", "9999-12-31"),
    "time": ("00:00:00", "12:34:56.123456", "24:00:00"),
    "bytea": ("\\x", "\\x00ff", "\\x247b787d"),
    "jsonb": ('{"a": "${x}"}', "[]", "null"),
    "inet": ("10.0.0.1", "::1"),
    "text[]": ('{"${x}",NULL,"a,b"}', "{}"),
    "int[]": ("{1,NULL}", "{}"),
}  # fmt: skip
KEYS = (
    "int", "bigint", "numeric(20)", "numeric(9,2)", "numeric", "text", "varchar(20)", "uuid", "timestamp",
    "timestamptz", "date", "time", "bytea", "boolean",
)  # fmt: skip
NEW_KEY_TYPES = {
    "int": ("bigint", "text", "numeric(20)"),
    "bigint": ("text", "numeric(20)"),
    "numeric(20)": ("text",),
    "varchar(20)": ("text",),
}
NEW_TYPES = {
    "int": ("bigint", "text"),
    "smallint": ("int", "text"),
    "real": ("double precision",),
    "boolean": ("text",),
    "uuid": ("text",),
    "numeric(9,2)": ("numeric(12,4)", "text"),
    "text": ("varchar(40)",),
}
NAMES = (
    "_order", "_key", "_seen", "_last", "_now", "_place", "_before", "_base", "_nth", "_stored", "_holds", "_op",
    "_deleted", "op", "lsn", "value", "problem", "source", "t", "s", "a b", "it's", "${x}", "dot.ted", "back`tick",
    "Ünï", 'quo"te', "(order)",
)  # fmt: skip
_TOUCHED = 4
"""How many operations on rows there are for each change of columns."""


class FuzzedTable:
    """A table with a key and some columns. Its state is the database's; this knows the types alone."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self._chance = chance
        self._names = chance.sample(NAMES, len(NAMES))
        kinds = chance.sample(KEYS, chance.choice((1, 1, 2)))
        self.keys = {self._names.pop(): kind for kind in kinds}
        self.columns = {self._names.pop(): chance.choice([*VALUES]) for _ in range(chance.randint(1, 6))}

    def create(self, connection: psycopg.Connection[Any]) -> None:
        """Create the table with a few rows."""
        columns = [sql.SQL("{} {}").format(_name(name), sql.SQL(kind)) for name, kind in self._all().items()]
        key = sql.SQL("PRIMARY KEY ({})").format(_listed(self.keys))
        body = sql.SQL(", ").join([*columns, key])
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(_name(self.name), body))
        for _ in range(6):
            self._insert(connection)

    def work(self, connection: psycopg.Connection[Any], steps: int) -> None:
        """Change rows and columns, each step in a transaction of its own."""
        rows: list[Callable[[psycopg.Connection[Any]], None]] = [
            self._insert, self._insert, self._insert, self._update, self._update, self._delete, self._change_key,
            self._change_key if self._chance.random() < 0.7 else self._truncate,
        ]  # fmt: skip
        columns = [self._add, self._drop, self._rename, self._retype, self._retype_key]
        for step in range(steps):
            kind = self._chance.choice(rows if step % _TOUCHED else columns)
            with connection.transaction():
                kind(connection)

    def _insert(self, connection: psycopg.Connection[Any]) -> None:
        values = {name: self._value(kind, may_be_null=name in self.columns) for name, kind in self._all().items()}
        statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING")
        connection.execute(statement.format(_name(self.name), _listed(values), sql.SQL(", ").join(values.values())))

    def _update(self, connection: psycopg.Connection[Any]) -> None:
        if self.columns:
            name = self._chance.choice([*self.columns])
            self._set(connection, {name: self._value(self.columns[name], may_be_null=True)})

    def _change_key(self, connection: psycopg.Connection[Any]) -> None:
        new = {name: self._value(kind) for name, kind in self.keys.items()}
        taken = sql.SQL(" AND ").join(sql.SQL("{} = {}").format(_name(name), value) for name, value in new.items())
        found = connection.execute(sql.SQL("SELECT 1 FROM {} WHERE {}").format(_name(self.name), taken)).fetchone()
        if found is None:
            self._set(connection, new)

    def _set(self, connection: psycopg.Connection[Any], values: Mapping[str, sql.Composable]) -> None:
        """Update one row, whichever it is."""
        sets = sql.SQL(", ").join(sql.SQL("{} = {}").format(_name(name), value) for name, value in values.items())
        connection.execute(sql.SQL("UPDATE {} SET {} WHERE {}").format(_name(self.name), sets, self._one_row()))

    def _delete(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(sql.SQL("DELETE FROM {} WHERE {}").format(_name(self.name), self._one_row()))

    def _truncate(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(sql.SQL("TRUNCATE {}").format(_name(self.name)))

    def _add(self, connection: psycopg.Connection[Any]) -> None:
        name, kind = self._names.pop(), self._chance.choice([*VALUES])
        self._alter(connection, sql.SQL("ADD COLUMN {} {}").format(_name(name), sql.SQL(kind)))
        self.columns[name] = kind

    def _drop(self, connection: psycopg.Connection[Any]) -> None:
        if self.columns:
            name = self._chance.choice([*self.columns])
            self._alter(connection, sql.SQL("DROP COLUMN {}").format(_name(name)))
            del self.columns[name]

    def _rename(self, connection: psycopg.Connection[Any]) -> None:
        if self.columns:
            old, new = self._chance.choice([*self.columns]), self._names.pop()
            self._alter(connection, sql.SQL("RENAME COLUMN {} TO {}").format(_name(old), _name(new)))
            self.columns[new] = self.columns.pop(old)
            self._write_again(connection, new)

    def _retype(self, connection: psycopg.Connection[Any]) -> None:
        for name, old in self.columns.items():
            if old in NEW_TYPES:
                self.columns[name] = self._chance.choice(NEW_TYPES[old])
                self._retyped(connection, name, self.columns[name])
                self._write_again(connection, name)
                return

    def _retype_key(self, connection: psycopg.Connection[Any]) -> None:
        """A new type of the key alone: the database sends nothing about the rows that are there."""
        for name, old in self.keys.items():
            if old in NEW_KEY_TYPES:
                self.keys[name] = self._chance.choice(NEW_KEY_TYPES[old])
                self._retyped(connection, name, self.keys[name])
                return

    def _retyped(self, connection: psycopg.Connection[Any], name: str, kind: str) -> None:
        self._alter(connection, sql.SQL("ALTER COLUMN {} TYPE {}").format(_name(name), sql.SQL(kind)))

    def _alter(self, connection: psycopg.Connection[Any], change: sql.Composable) -> None:
        connection.execute(sql.SQL("ALTER TABLE {} {}").format(_name(self.name), change))

    def _write_again(self, connection: psycopg.Connection[Any], name: str) -> None:
        """Write all rows again, since the database does not stream what an ALTER does to them."""
        connection.execute(sql.SQL("UPDATE {0} SET {1} = {1}").format(_name(self.name), _name(name)))

    def _one_row(self) -> sql.Composable:
        return sql.SQL("ctid = (SELECT min(ctid) FROM {})").format(_name(self.name))

    def _value(self, kind: str, *, may_be_null: bool = False) -> sql.Composable:
        text = self._chance.choice(VALUES.get(kind, VALUES["text"] if "char" in kind else ("0", "7")))
        given = None if may_be_null and self._chance.random() < 0.1 else text[:20] if kind == "varchar(20)" else text
        return sql.SQL("{}::{}").format(sql.Literal(given), sql.SQL(kind))

    def _all(self) -> dict[str, str]:
        return {**self.keys, **self.columns}


def _name(name: str) -> sql.Identifier:
    return sql.Identifier(name)


def _listed(names: Mapping[str, Any]) -> sql.Composed:
    return sql.SQL(", ").join(map(_name, names))
