"""Both sides of the shop demo: the database, and the mirror in the lake."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from psycopg.rows import tuple_row

from penstock.cli.answer_view import Row, first_rows
from penstock.config import Settings
from penstock.connect.postgres import database_failures, open_connection
from penstock.errors import TableNotFound, TableUnreadable
from penstock.lake.lake import Lake
from penstock.lake.question import ask

TABLES = ("customers", "products", "orders", "order_lines")

_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class ShopDatabase:
    """The shop's PostgreSQL database. Every statement is a separate transaction."""

    connection: psycopg.Connection[Any]
    shown: str

    @classmethod
    @contextmanager
    def opened(cls, url: str) -> Iterator[Self]:
        """Connect for the duration of a block."""
        with open_connection(url) as (connection, shown):
            yield cls(connection, shown)

    def run(self, statement: str, values: Mapping[str, object]) -> Row:
        """Run a statement with a single result row."""
        with database_failures(self.shown), self.connection.cursor(row_factory=tuple_row) as cursor:
            [row] = cursor.execute(statement, values)
            return row

    def sizes(self) -> dict[str, int]:
        """Return the number of rows per table."""
        counted = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)  # noqa: S608 - our own names
        return dict(zip(TABLES, self.run(f"SELECT {counted}", {}), strict=True))


@dataclass(frozen=True)
class ShopLake:
    """The shop's lake, queried without Spark."""

    settings: Settings

    def sizes(self) -> dict[str, int]:
        """Return the number of rows per table."""
        return {table: self._size(table) for table in TABLES}

    def rows(self, question: str) -> list[Row]:
        """Return the rows of a query; none if the table does not exist yet."""
        try:
            with ask(Lake(self.settings), question) as answer:
                return first_rows(answer, 0).rows
        except (TableNotFound, TableUnreadable):
            return []

    def await_row(self, question: str, wanted: Row, patience: float) -> Row | None:
        """Repeat the query until the expected row appears. Return None after the timeout."""
        give_up = time.monotonic() + patience
        while wanted not in (found := self.rows(question)):
            if time.monotonic() > give_up:
                return None
            time.sleep(_LOOK_SECONDS)
        return found[0]

    def _size(self, table: str) -> int:
        try:
            return Lake(self.settings).table(f"shop/{table}").summary().rows
        except (TableNotFound, TableUnreadable):
            return 0
