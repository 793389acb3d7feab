"""A question to the lake: the tables that it names are opened, and nothing else is."""

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


@contextmanager
def sample(table: Table, count: int) -> Iterator[Answer]:
    """Some rows of a table, without reading all of it."""
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
