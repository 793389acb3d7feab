"""Upsert statement: insert a row, or change the row with an equal key."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql


@dataclass(frozen=True)
class Upsert:
    """Table, columns in the order of the values, and the reaction to an existing key."""

    table: str
    columns: list[str]
    key: list[str]
    update: bool = True
    newest: str | None = None

    def statement(self) -> sql.Composed:
        """Return `INSERT … ON CONFLICT …` with a placeholder for each column."""
        return sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) {}").format(
            _name(*self.table.split(".")),
            _names(self.columns),
            sql.SQL(", ").join(sql.Placeholder() * len(self.columns)),
            _names(self.key),
            self._on_conflict(),
        )

    def _on_conflict(self) -> sql.Composable:
        others = [name for name in self.columns if name not in self.key]
        if not self.update or not others:
            return sql.SQL("DO NOTHING")
        changes = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(_name(name)) for name in others)
        return sql.SQL("DO UPDATE SET {}{}").format(changes, self._if_newest())

    def _if_newest(self) -> sql.Composable:
        if self.newest is None:
            return sql.SQL("")
        here = _name(self.table.split(".")[-1], self.newest)
        return sql.SQL(" WHERE {0} IS NULL OR excluded.{1} >= {0}").format(here, _name(self.newest))


def _names(names: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(_name, names))


def _name(*parts: str) -> sql.Composable:
    """Return a quoted name with `%` doubled: psycopg treats a single `%` as the start of a placeholder."""
    quoted = sql.Identifier(*parts).as_string()
    return sql.SQL(quoted.replace("%", "%%"))
