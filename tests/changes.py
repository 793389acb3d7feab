"""Batches of changes for tests of the sinks that take them: made by hand, as a decoder gives them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch, Sink
from penstock.spark.transforms import Transform, chain
from tests.lake_queries import scan_delta

COLUMNS = "id int, name string, note string"
BEGAN = datetime(2026, 1, 1)  # noqa: DTZ001 - as Spark gives a timestamp to Python, in the session's zone
_BATCH = Batch("test", 1, Position({}, {}), Position({}, {}))
_CDC = (
    "struct<op:string,at:timestamp,snapshot:boolean,commit:bigint,lsn:bigint,row:int,tx:string,tx_order:bigint,"
    "keys:array<string>,unavailable:array<string>,outside:map<string,string>,topic:string,partition:int,offset:bigint>"
)
_KAFKA = "struct<topic:string,partition:int,offset:bigint,key:binary>"

MakeSink = Callable[[SparkSession, LakeTable], Sink]


class Changes:
    """A table of people, and the sink that its changes are written to."""

    def __init__(self, spark: SparkSession, lake: Path, make_sink: MakeSink) -> None:
        self._spark = spark
        self._table = LakeTable(str(lake), "shop/people")
        self._make_sink = make_sink
        self.transform: Transform = chain([])
        self._offset = 0
        self.sink = make_sink(spark, self._table)

    def restart(self) -> None:
        """Let a new sink go on."""
        self.sink = self._make_sink(self._spark, self._table)

    def write(self, *changes: dict[str, Any], columns: str = COLUMNS) -> None:
        """Write one batch."""
        rows = [self._row(each, columns) for each in changes]
        batch = self._spark.createDataFrame(rows, f"{columns}, _cdc {_CDC}, _kafka {_KAFKA}").coalesce(1)
        self.sink.write(self.sink.form(self.transform(batch)), _BATCH)

    def rows(self, *columns: str, order: str = "id") -> list[tuple[Any, ...]]:
        """The rows of the table."""
        names = ", ".join(columns or ("id", "name", "note"))
        query = f"SELECT {names} FROM delta.`{self._table.path}` ORDER BY {order}"  # noqa: S608 - constants
        return [tuple(row) for row in self._spark.sql(query).collect()]

    def without_spark(self) -> list[dict[str, Any]]:
        """The rows as other readers get them."""
        return scan_delta(self._table.path)

    def _row(self, told: dict[str, Any], columns: str) -> tuple[Any, ...]:
        self._offset += 1
        names = [column.split()[0] for column in columns.split(",")]
        at = (BEGAN + timedelta(seconds=told.get("at", told["lsn"]))).replace(tzinfo=UTC)
        place = (told["op"] == "r", told.get("commit"), told["lsn"], None, None, None)
        origin = ("t", 0, told.get("offset", self._offset))
        about = (told.get("keys", ["id"]), told.get("unavailable"), told.get("outside"))
        return (*(told.get(name) for name in names), (told["op"], at, *place, *about, *origin), (*origin, b"key"))


def change(op: str, row_id: Any, name: str | None = None, **told: Any) -> dict[str, Any]:
    """A change at a place of the log."""
    return {"op": op, "id": row_id, "name": name, "commit": told["lsn"] - 1, **told}


def read(row_id: Any, name: str, lsn: int, **told: Any) -> dict[str, Any]:
    """A row of a snapshot."""
    return {"op": "r", "id": row_id, "name": name, "lsn": lsn, **told}


def truncate(lsn: int, commit: int | None = None) -> dict[str, Any]:
    """A truncate at a place of the log."""
    return {"op": "t", "id": None, "lsn": lsn, "commit": commit, "keys": []}


def seconds(at: datetime | None) -> int | None:
    """When a change of these was, by the place that it has in the log."""
    return None if at is None else round((at.replace(tzinfo=None) - BEGAN).total_seconds())
