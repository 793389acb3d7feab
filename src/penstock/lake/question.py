"""A question to the lake: the tables that it names are opened, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import TableNotFound
from penstock.lake.engine import Answer, Engine
from penstock.lake.lake import Lake


@contextmanager
def ask(lake: Lake, sql: str) -> Iterator[Answer]:
    """Answer one SELECT over tables of the lake; TableNotFound or QuestionRefused says what is wrong with it."""
    with Engine() as engine:
        asked = engine.read(sql)
        for ref in asked.tables:
            try:
                table = lake.table(ref.table)
            except TableNotFound:
                if ref.own:
                    continue
                raise
            engine.add(ref, table.rows(asked.columns))
        yield engine.ask(sql)
