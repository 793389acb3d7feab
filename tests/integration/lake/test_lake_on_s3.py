"""Questions to a lake in an object store, over tables of both formats."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from penstock.cli.answer_view import first_rows
from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.errors import LakeUnavailable, TableNotFound
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.lake.s3 import s3_access
from penstock.lake.store import open_store

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", None, "ä"]})


@pytest.fixture
def filled(s3_lake: Settings) -> Settings:
    store = open_store(s3_lake)
    for day in ("01", "02"):
        with store.system.open_output_stream(store.full(f"events/kind=A%20B/day={day}/a.parquet")) as file:
            pq.write_table(ROWS, file)
    options = s3_access(s3_lake.s3).delta_options(10)
    write_deltalake(f"{store.delta_uri}/shop/orders", ROWS, storage_options=options, partition_by=["name"])
    return s3_lake


def test_tables_of_both_formats_are_found_and_asked(filled: Settings) -> None:
    lake = Lake(filled)
    assert [(table.name, table.format, table.summary().rows) for table in lake.tables()] == [
        ("events", "parquet", 6),
        ("shop/orders", "delta", 3),
    ]
    sql = "SELECT day, count(*), max(o.name) FROM events JOIN shop.orders o USING (id) WHERE day = '02' GROUP BY 1"
    with ask(lake, sql) as answer:
        assert first_rows(answer, 0).rows == [("02", 3, "ä")]


def test_a_store_that_refuses_or_is_away_is_told(s3_lake: Settings) -> None:
    wrong = PassThrough({**s3_lake.s3, "secret.key": "wrong"})
    with pytest.raises(LakeUnavailable, match="SIGNATURE_DOES_NOT_MATCH"):
        Lake(s3_lake.model_copy(update={"s3": wrong})).tables()
    away = PassThrough({**s3_lake.s3, "endpoint": "http://localhost:1"})
    with pytest.raises(LakeUnavailable, match="connect"):
        Lake(s3_lake.model_copy(update={"s3": away})).tables()
    assert Lake(s3_lake).tables() == []
    with pytest.raises(TableNotFound):
        Lake(s3_lake).table("events")
