"""Tables with folders of arbitrary values, written by the lake's sinks and read by every reader of such tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.config import load_settings
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.lake.compaction import compact_table
from penstock.lake.lake import Lake
from penstock.lake.question import ask
from penstock.spark.decoding import KAFKA, PROBLEM
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position
from penstock.spark.queries.screening import fit_rows, unfit_messages
from penstock.spark.sinks.sink import Batch

Format = Literal["parquet", "delta"]
Row = dict[str, Any]
Found = dict[int, tuple[Any, ...]]
"""The values of the folders' columns, by the id of the row."""

NAME = "events"
TYPES = {
    "kind": "string",
    "second": "string",
    "day": "date",
    "at": "timestamp",
    "price": "decimal(9,2)",
    "number": "bigint",
    "flag": "boolean",
}
_ESCAPED = re.compile(rb"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")


def names_a_folder(table_format: Format, column: str, value: object) -> bool:
    """Whether a value can name a folder, by rules that are written down independently of the product's."""
    match value:
        case bytes():
            try:
                value.decode()
            except UnicodeDecodeError:
                return False
            name = f"{column}=".encode() + _ESCAPED.sub(b"%00", value)
            return len(name) <= 255 and b"\0" not in value
        case Decimal():
            return table_format == "parquet" or value >= 0
        case _:
            return True


def as_read(value: object) -> object:
    """A value as every reader finds it: what is no value is null."""
    if isinstance(value, bytes):
        return None if value in {b"", b"__HIVE_DEFAULT_PARTITION__"} else value.decode()
    return value


@dataclass
class PartitionedTable:
    """One table in a lake of its own, and the sink that fills it."""

    spark: SparkSession
    lake: Path
    format: Format
    partition_by: tuple[str, ...]

    def __post_init__(self) -> None:
        """Begin to write."""
        table = LakeTable(str(self.lake), NAME, self.partition_by)
        self._sink = (ParquetSink if self.format == "parquet" else DeltaSink)(self.spark, table, "fuzz.lake")
        self._sink.landed()
        self._settings = load_settings(env={}, options={"lake": str(self.lake)}).settings
        self._offset = 0

    @property
    def path(self) -> str:
        """The directory of the table."""
        return str(self.lake / NAME)

    def write(self, rows: Sequence[Row]) -> set[int]:
        """Write a batch, and return the ids of the rows that are refused."""
        given = self._frame(rows)
        refused = unfit_messages(self._sink, given)
        ids = {row["offset"] for row in refused.select("offset", PROBLEM).collect()} if refused is not None else set()
        place = PartitionId(TopicName("t"), Partition(0))
        start, self._offset = self._offset, self._offset + len(rows)
        ends = (Position({place: Offset(offset)}, {TopicName("t"): "id"}) for offset in (start, self._offset))
        self._sink.write(self._sink.form(fit_rows(self._sink, given)), Batch("fuzz.lake", self._offset, *ends))
        return ids

    def compact(self) -> None:
        """Merge its files."""
        compact_table(self._settings, NAME)

    def readers(self) -> Iterator[tuple[str, Found]]:
        """What each reader finds in it."""
        yield "lake query", self._by(ask_all(self._settings))
        if self.format == "delta":
            yield "deltalake", self._by(DeltaTable(self.path).to_pyarrow_table().to_pylist())
            yield (
                "deltalake scan",
                self._by(pa.RecordBatchReader.from_stream(DeltaTable(self.path).scan()).read_all().to_pylist()),
            )
        else:
            yield "pyarrow", self._by(self._pyarrow_rows())
            yield "DuckDB", self._by(self._duckdb_rows())
        yield "Spark", self._by(self._spark_rows())

    def _frame(self, rows: Sequence[Row]) -> DataFrame:
        """Rows as a query has them; texts are given as bytes, which may be no UTF-8."""
        kinds = {name: "binary" if kind == "string" else kind for name, kind in TYPES.items()}
        ddl = ", ".join(["id bigint", *(f"{name} {kind}" for name, kind in kinds.items())])
        frame = self.spark.createDataFrame([(row["id"], *(row[name] for name in TYPES)) for row in rows], ddl)
        texts = {name: F.col(name).cast("string") for name, kind in TYPES.items() if kind == "string"}
        place = {"topic": F.lit("t"), "partition": F.lit(0), "offset": F.col("id")}
        origin = F.struct(*(column.alias(name) for name, column in place.items()))
        return frame.withColumns(texts).withColumn(KAFKA, origin)

    def _pyarrow_rows(self) -> list[Row]:
        folders = pa.schema([(name, pa.string()) for name in self.partition_by])
        found = ds.dataset(self.path, format="parquet", partitioning=ds.partitioning(folders, flavor="hive"))
        return list(map(self._typed, found.to_table().to_pylist()))

    def _duckdb_rows(self) -> list[Row]:
        options, names = "hive_partitioning = true, hive_types_autocast = false", ("id", *self.partition_by)
        read = f"SELECT {', '.join(map(_quoted, names))} FROM read_parquet(?, {options})"  # noqa: S608 - names of the test's own
        with duckdb.connect() as database:
            found = database.execute(read, [f"{self.path}/**/*.parquet"]).fetchall()
        return [self._typed(dict(zip(names, row, strict=True))) for row in found]

    def _spark_rows(self) -> list[Row]:
        if self.format == "delta":
            found = self.spark.read.format("delta").load(self.path)
        else:
            ddl = ", ".join(["id bigint", *(f"{name} {kind}" for name, kind in TYPES.items())])
            found = self.spark.read.schema(ddl).parquet(self.path)
        # As text: PySpark gives times in the zone of the machine.
        texts = (F.col(name).cast("string").alias(name) for name in self.partition_by)
        return [self._typed(row.asDict()) for row in found.select("id", *texts).collect()]

    def _typed(self, row: Row) -> Row:
        """A row whose folders were read as text."""
        return {name: _parsed(TYPES.get(name), value) for name, value in row.items()}

    def _by(self, rows: list[Row]) -> Found:
        found: Found = {}
        for row in rows:
            assert row["id"] not in found, f"row {row['id']} is there twice"
            found[row["id"]] = tuple(_plain(row[name]) for name in self.partition_by)
        return found


def ask_all(settings: Any) -> list[Row]:
    """All rows as `penstock lake query` answers them."""
    with ask(Lake(settings), "SELECT * FROM events") as answer:
        return [row for batch in answer.batches() for row in batch.to_pylist()]


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "timestamp": lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
    "decimal(9,2)": Decimal,
    "bigint": int,
    "boolean": "true".__eq__,
}


def _quoted(name: str) -> str:
    return f'"{name}"'


def _parsed(kind: str | None, value: object) -> object:
    """The value that a folder's name stands for."""
    return _PARSERS[kind](value) if kind in _PARSERS and isinstance(value, str) else value


def _plain(value: object) -> object:
    """A moment in UTC, whatever zone a reader has it in."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
