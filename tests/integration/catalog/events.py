"""Staging rows as tests write them, and the final tables as they read them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.rows import StagedRow
from penstock.catalog.staging.tables import TableName
from penstock.events.record import Offset, Origin, Partition, TopicName

FINAL_TABLES = (
    *("dataset", "dataset_schema", "dataset_owner", "dataset_tag", "dataset_lineage", "dataset_load_status"),
    *("job_execution", "observation", "dataset_search"),
)

_offsets = itertools.count()


def urn(name: str = "tracking.PageViewEvent", platform: str = "hive") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def row(offset: int | None = None, topic: str = "events", **values: Any) -> StagedRow:
    place = next(_offsets) if offset is None else offset
    packed = {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in values.items()}
    return StagedRow(Origin(TopicName(topic), Partition(0), Offset(place)), packed)


def change(at: int, *, name: str = "tracking.PageViewEvent", offset: int | None = None, **values: Any) -> StagedRow:
    """A metadata change event at this moment, in milliseconds."""
    return row(offset, **{"urn": urn(name), "change_type": "UPSERT", "log_event_time": at, **values})


def load(at: int, partition: str, count: int | None = None, *, dataset: str = "/data/e", **values: Any) -> StagedRow:
    """A compaction event."""
    given = {"cluster": "c1", "dataset": dataset, "partition_name": partition, "record_count": count}
    return row(**{**given, "log_event_time": at, **values})


def copy(at: int, source: str, target: str) -> StagedRow:
    """A copy between clusters."""
    paths = {"source_path": source, "target_path": target, "dataset": "/data/c", "partition_name": "p"}
    return row(cluster="c1", log_event_time=at, **paths)


def execution(at: int, status: str, **values: Any) -> StagedRow:
    """What is told of an execution of a job."""
    job = {"application": "azkaban", "flow_name": "f", "job_name": "j", "execution_id": "7"}
    given = {"input_datasets": [urn("in")], "output_datasets": [urn("out")]}
    return row(**{**job, **given, "status": status, "log_event_time": at, **values})


def fields(*paths: str, **types: str) -> list[dict[str, Any]]:
    named = {**dict.fromkeys(paths, "string"), **types}
    return [{"path": path, "type": kind, "nullable": True} for path, kind in named.items()]


def owners(*names: str) -> list[dict[str, str]]:
    return [{"owner": f"urn:li:corpuser:{name}", "type": "DATAOWNER"} for name in names]


def take_each(database: Database, table: TableName, rows: Iterable[StagedRow]) -> None:
    """Every row as a batch of its own."""
    for each in rows:
        assert take(database, table, [each]) == []


def rows_of(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.transaction() as connection:
        return connection.execute(query.encode()).fetchall()


def final_tables(database: Database) -> dict[str, list[str]]:
    """Every row of every final table, as text."""
    return {table: sorted(map(str, rows_of(database, f"SELECT * FROM {table}"))) for table in FINAL_TABLES}  # noqa: S608 - names of the test


def empty(database: Database) -> None:
    """Forget everything but the tables."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'catalog' AND tablename NOT IN ('migration', 'source')"
    with database.transaction() as connection:
        for (table,) in connection.execute(query).fetchall():
            connection.execute(f"DELETE FROM {table}".encode())  # noqa: S608 - the catalog's own names
