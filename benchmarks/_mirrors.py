"""Mirrors for benchmarks: tables of any size as a load in the order of keys leaves them, and batches of changes."""

from __future__ import annotations

import time

from _spark import Bench
from pyspark.sql import DataFrame

from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.changes.table import ChangeTable
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

_ROWS_PER_FILE = 500_000
_LOADED_AT, _CHANGED_AT, _STEP = 500_000, 10_000_000_000, 10_000_000
"""Places in the database's log: of the load, of the first batch of changes, and from one batch to the next."""

_COLUMNS = (
    "id",
    "id * 7919 % 100000 AS customer",
    "element_at(array('open', 'paid', 'sent'), cast(id % 3 AS int) + 1) AS state",
    "cast(id % 50000 / 100 AS decimal(10, 2)) AS total",
    "timestamp_seconds(1767225600 + id % 10000000) AS ordered_at",
    "concat('order ', id, ' of customer ', id * 7919 % 100000) AS note",
)


def _told(op: str, *, is_load: bool) -> str:
    parts = (
        f"'op', '{op}', 'at', timestamp_seconds(1767225600), 'snapshot', {str(is_load).lower()}",
        f"'commit', cast({'NULL' if is_load else 'place - 50'} AS bigint), 'lsn', cast(place AS bigint)",
        "'row', cast(NULL AS int), 'tx', cast(NULL AS string), 'tx_order', cast(NULL AS bigint), 'keys', array('id')",
        "'unavailable', cast(NULL AS array<string>), 'outside', cast(NULL AS map<string, string>)",
        "'topic', 'shop.public.orders', 'partition', 0, 'offset', place",
    )
    return f"named_struct({', '.join(parts)}) AS _cdc"


class BenchMirror:
    """A mirror of so many rows, and the sink that its changes go to."""

    def __init__(self, bench: Bench, rows: int) -> None:
        self.rows = rows
        self.table = LakeTable(bench.settings.lake, f"mirror_of_{rows}")
        self._session = bench.session
        self._sink = MirrorSink(bench.session, self.table)
        self._batches = 0
        self._load()

    def _load(self) -> None:
        numbers = self._session.range(0, self.rows, 1, max(2, self.rows // _ROWS_PER_FILE))
        placed = numbers.selectExpr("id", f"{_LOADED_AT}L AS place")
        loaded = placed.selectExpr(*_COLUMNS, _told("r", is_load=True))
        fitted = ChangeTable(self._session, self.table).fitted(loaded)
        fitted.write.format("delta").mode("append").save(self.table.path)

    def change(self, count: int) -> float:
        """Write a batch of changes of random rows; the seconds that it took."""
        changes = self._changes(count).localCheckpoint()
        batch = Batch("bench", self._batches, Position({}, {}), Position({}, {}))
        began = time.perf_counter()
        self._sink.write(self._sink.form(changes), batch)
        return time.perf_counter() - began

    def _changes(self, count: int) -> DataFrame:
        self._batches += 1
        place = _CHANGED_AT + self._batches * _STEP
        numbers = self._session.range(0, count, 1, 4)
        chosen = numbers.selectExpr(
            f"cast(rand({self._batches}) * {self.rows} AS bigint) AS id", f"{place}L + id * 100 AS place"
        )
        return chosen.selectExpr(*_COLUMNS, _told("u", is_load=False))
