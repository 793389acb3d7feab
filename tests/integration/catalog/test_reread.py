"""Topics that are read again for a rebuild; what stands for the query hands over the rows of one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.database import Database
from penstock.catalog.errors import StagingIncomplete
from penstock.catalog.intake import take
from penstock.catalog.jobs.reread import reread
from penstock.catalog.jobs.sink import Take
from penstock.catalog.own_datasets import OwnDataset, register
from penstock.catalog.rebuild import rebuild
from penstock.catalog.staging.copying import Lines
from penstock.catalog.staging.retention import prune
from penstock.catalog.staging.tables import COMPACTION
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.queries.observing import Counts
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch
from tests.integration.catalog.events import final_tables, load, rows_of, urn

WORK: Any = SimpleNamespace(route=SimpleNamespace(table=COMPACTION))
PLACE = PartitionId(TopicName("events"), Partition(0))
COLUMNS = ("cluster", "dataset", "partition_name", "log_event_time")


def read_again(database: Database, partitions: Mapping[int, str], start: int, end: int) -> list[str]:
    """Read a topic that has these partitions by their offsets; what is said of those refused."""
    told: list[str] = []

    def reading_again(_: Any, take_rows: Take) -> Any:
        lines = [f"c1\t/data/e\t{name}\t{1000 + offset}\tevents\t0\t{offset}\n" for offset, name in partitions.items()]
        place = {"topic": ["events"] * len(lines), "partition": [0] * len(lines), "offset": list(partitions)}
        span = (Position({PLACE: Offset(offset)}, {}) for offset in (start, end))
        batch = Batch("q", 0, *span)

        def begin() -> None:
            refusals = take_rows(Lines(COLUMNS, pa.table({**place, "line": pa.array(lines, pa.string())})), batch)
            told.extend(refusal.error.message for refusal in refusals)

        return SimpleNamespace(start=begin, is_active=False, ended=lambda: None, counts=Counts(len(lines), len(told)))

    assert len(list(reread(database, [WORK], reading_again))) == 1
    return told


@contextmanager
def refusing(database: Database, partition: str) -> Iterator[None]:
    """The merge fails on a partition."""
    with database.transaction() as connection:
        check = f"ALTER TABLE dataset_load_status ADD CONSTRAINT odd CHECK (partition_expr <> '{partition}')"
        connection.execute(check.encode())
    try:
        yield
    finally:
        with database.transaction() as connection:
            connection.execute("ALTER TABLE dataset_load_status DROP CONSTRAINT odd")


def test_a_row_on_which_the_merge_fails_is_refused_and_later_rebuilds_go_through(database: Database) -> None:
    with refusing(database, "p1"):
        [told] = read_again(database, {0: "p0", 1: "p1", 2: "p2"}, 0, 3)
        assert told.startswith("events/0/1: ")
        assert rebuild(database) == 2
    assert rows_of(database, "SELECT partition_expr FROM dataset_load_status ORDER BY 1") == [("p0",), ("p2",)]


def test_rows_are_replaced_and_those_of_messages_that_make_none_any_more_are_removed(database: Database) -> None:
    rows = [load(1000 + offset, f"p{offset}", offset=offset) for offset in range(4)]
    take(database, COMPACTION, rows)
    assert read_again(database, {0: "p0", 1: "other"}, 0, 3) == []
    query = "SELECT kafka_offset, partition_name FROM stg_kafka_gobblin_compaction ORDER BY 1"
    assert rows_of(database, query) == [(0, "p0"), (1, "other"), (3, "p3")]


def test_what_retention_removed_is_whole_again_once_kafka_gave_all_of_it(database: Database) -> None:
    rows = {offset: f"p{offset}" for offset in range(5, 9)}
    assert read_again(database, rows, 5, 9) == []
    before = final_tables(database)
    prune(database, datetime.fromtimestamp(1.008, UTC))
    read_again(database, {offset: rows[offset] for offset in (6, 7, 8)}, 6, 9)
    with pytest.raises(StagingIncomplete, match="removed 3 rows"):
        rebuild(database)
    read_again(database, rows, 5, 9)
    assert rebuild(database) == 4
    assert final_tables(database) == before


def test_what_penstock_said_itself_is_not_forgotten_since_kafka_has_it_not(database: Database) -> None:
    register(database, "shop", [OwnDataset(urn("orders", "kafka"), owner="ann")], datetime.fromtimestamp(1, UTC))
    prune(database, datetime.fromtimestamp(2, UTC))
    read_again(database, {0: "p0"}, 0, 1)
    with pytest.raises(StagingIncomplete, match="removed 1 rows"):
        rebuild(database)
    assert rows_of(database, "SELECT count(*) FROM dataset_owner") == [(1,)]
