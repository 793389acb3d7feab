"""Queries against the lake. Only the tables named in a query are opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import dataset as ds

from penstock.errors import TableNotFound
from penstock.lake.asked import TableRef
from penstock.lake.engine import Answer, Engine
from penstock.lake.lake import Lake
from penstock.lake.table import Table

_SAMPLE = "sample"


@contextmanager
def ask(lake: Lake, sql: str) -> Iterator[Answer]:
    """Run one SELECT on tables of the lake. Raise TableNotFound or QuestionRefused for an invalid query."""
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


@contextmanager
def sample(table: Table, count: int) -> Iterator[Answer]:
    """Return some rows of a table without reading the whole table."""
    rows = table.rows(lambda _columns: None)
    if isinstance(rows, pa.RecordBatchReader):
        batches = (batch for batch in rows if batch.num_rows)
        first = next(batches, None)
        some = pa.table(first.slice(0, count)) if first is not None else rows.schema.empty_table()
    else:
        some = rows.head(count)
    with Engine() as engine:
        engine.add(TableRef("", _SAMPLE), ds.dataset(some))
        yield engine.ask(f"FROM {_SAMPLE}")
