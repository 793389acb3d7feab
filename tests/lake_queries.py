"""Queries from a topic of events into a lake, and readers of its tables that know nothing of Spark."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.consumer import Consumer
from penstock.kafka.producer import Producer
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.decoding import Decoder
from penstock.spark.hadoop_files import files_at
from penstock.spark.json.rows import JsonRows
from penstock.spark.json.shape import shape_of_ddl
from penstock.spark.kafka_source import KafkaSource, OnDataLoss
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.batch import BatchPath, FailureMode
from penstock.spark.queries.query import Query, QuerySpec
from penstock.spark.queries.runner import Runner
from penstock.spark.queries.state import QueryState
from penstock.spark.transforms import Transform, chain

LakeFormat = Literal["parquet", "delta"]
DDL = "id BIGINT NOT NULL, kind STRING, day STRING"
FIELDS = ({"name": "id", "type": "long"}, {"name": "kind", "type": "string"})
NEW_FIELD = {"name": "note", "type": ["null", "string"], "default": None}


@dataclass(frozen=True)
class Lake:
    """A lake, a table in it, and the query that fills the table from a topic."""

    spark: SparkSession
    settings: Settings
    topic: str
    location: str
    format: LakeFormat
    state: str
    table: str = "events"
    ddl: str = DDL
    partition_by: tuple[str, ...] = ("kind", "day")
    target_bytes: int = 128 * 1024 * 1024
    max_records: int = 1_000_000
    on_data_loss: OnDataLoss = "stop"
    failure_mode: FailureMode = "CONTINUE"
    transform: Transform = field(default_factory=lambda: chain([]))
    decoder: Decoder | None = None
    pipeline: str = field(default_factory=lambda: f"pipeline-{uuid.uuid4().hex[:8]}")

    def but(self, **changes: Any) -> Lake:
        """The same with something changed."""
        return replace(self, **changes)

    @property
    def path(self) -> str:
        """The directory of the table."""
        return f"{self.location}/{self.table}"

    @property
    def lake_table(self) -> LakeTable:
        """The table as sinks take it."""
        return LakeTable(self.location, self.table, self.partition_by, self.target_bytes)

    def dead_letters(self) -> DeadLetters:
        """Where refused messages go."""
        return DeadLetters(self.settings, f"{self.topic}.dead", self.pipeline)

    def query(self, trigger: str | None = None) -> Query:
        """A query as a new driver makes it."""
        kind = ParquetSink if self.format == "parquet" else DeltaSink
        path = BatchPath(
            self.decoder or JsonRows(shape_of_ddl(self.ddl)),
            self.transform,
            kind(self.spark, self.lake_table, f"{self.pipeline}.lake"),
            self.dead_letters(),
            self.failure_mode,
        )
        source = KafkaSource(self.settings, (self.topic,), max_records=self.max_records, on_data_loss=self.on_data_loss)
        state = QueryState(files_at(self.state, self.spark), self.state)
        return Query(self.spark, QuerySpec(self.pipeline, "lake", source, path, state, trigger))

    def run(self) -> Query:
        """Read everything that is there, as a new driver; raises what the query fails with."""
        query = self.query()
        query.start()
        if (failure := finished(query)) is not None:
            raise failure
        return query

    def ids(self) -> list[int]:
        """The ids in the table as DuckDB sees them, sorted."""
        return sorted(row["id"] for row in self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the table, read without Spark."""
        return read_parquet(self.path) if self.format == "parquet" else read_delta(self.path)


def finished(query: Query, seconds: float = 240) -> PenstockError | None:
    """Wait for the end of a query that reads what is there."""
    give_up = time.monotonic() + seconds
    while query.is_active:
        assert time.monotonic() < give_up, "the query does not end"
        time.sleep(0.02)
    return query.ended()


@contextmanager
def running(query: Query) -> Iterator[Runner]:
    """A runner at work on a query."""
    runner, stop = Runner([query]), threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    try:
        yield runner
    finally:
        stop.set()
        thread.join()


def wait_until(done: Callable[[], bool], seconds: float = 240) -> None:
    """Wait for something that a query is to bring about."""
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def last_error(runner: Runner) -> str | None:
    """The code of what went wrong last with the only query."""
    (vitals, _), *_ = runner.vitals()
    return vitals.last_error.code if vitals.last_error else None


def event(number: int, /, kind: str | None = None, day: str = "2026-11-16", **more: object) -> bytes:
    """One event as JSON."""
    given = {"id": number, "kind": kind or ("view" if number % 2 else "click"), "day": day, **more}
    return json.dumps(given).encode()


def events(numbers: Iterable[int]) -> list[bytes]:
    """Events of two kinds."""
    return [event(number) for number in numbers]


def send_avro(lake: Lake, numbers: Iterable[int], *more: object, kind: str = "view") -> None:
    """Send events in Avro, of a schema that has more fields than an id and a kind if they are given."""
    schema = {"type": "record", "name": "Event", "fields": [*FIELDS, *more]}
    with Producer(lake.topic, schema, settings=lake.settings) as producer:
        for number in numbers:
            producer.send({"id": number, "kind": kind})


def dead_letters(lake: Lake) -> list[dict[str, str]]:
    """The headers of everything that was refused."""
    with Consumer(lake.dead_letters().topic, start="earliest", timeout=3, settings=lake.settings) as consumer:
        return [{name: (value or b"").decode() for name, value in record.headers} for record in consumer]


def parquet_files(path: str | Path) -> list[Path]:
    """What a reader's glob finds."""
    return sorted(Path(path).glob("**/*.parquet"))


def read_parquet(path: str) -> list[dict[str, Any]]:
    """All rows as DuckDB finds them by a glob; pyarrow has to find as many, unless files come meanwhile."""
    found = parquet_files(path)
    if not found:
        return []
    with duckdb.connect() as database:
        options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
        rows = _dicts(database.execute(f"SELECT * FROM read_parquet(?, {options})", [f"{path}/**/*.parquet"]))  # noqa: S608 - a constant
    count = ds.dataset(path, format="parquet").count_rows()
    if parquet_files(path) != found:
        return read_parquet(path)
    assert count == len(rows)
    return rows


def scan_delta(path: str) -> list[dict[str, Any]]:
    """All rows of a table that has deletion vectors, as deltalake itself finds them."""
    if not DeltaTable.is_deltatable(path):
        return []
    return pa.RecordBatchReader.from_stream(DeltaTable(path).scan()).read_all().to_pylist()


def read_delta(path: str, options: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """All rows as deltalake and DuckDB find them."""
    if not DeltaTable.is_deltatable(path, options):
        return []
    table = DeltaTable(path, storage_options=options).to_pyarrow_dataset()
    with duckdb.connect() as database:
        return _dicts(database.register("found", table).execute("SELECT * FROM found"))


def _dicts(found: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
