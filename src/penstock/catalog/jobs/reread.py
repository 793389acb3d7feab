"""Reading the topics of jobs again from their beginning, into staging as it would be if this were the first time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from penstock.catalog.database import Connection, Database, sql
from penstock.catalog.jobs.sink import Take
from penstock.catalog.jobs.store import list_jobs
from penstock.catalog.jobs.work import Work, works_of
from penstock.catalog.staging.copying import Lines
from penstock.catalog.staging.rows import Refusal
from penstock.catalog.staging.tables import TableName
from penstock.catalog.staging.writer import stage_lines
from penstock.errors import PenstockError
from penstock.spark.queries.narrowing import OffsetRange, ranges_of
from penstock.spark.queries.observing import Counts
from penstock.spark.queries.query import Query
from penstock.spark.sinks.sink import Batch

_LOOK_SECONDS = 0.2
_FORGET = "DELETE FROM {} WHERE kafka_topic = %s AND kafka_partition = %s AND kafka_offset >= %s AND kafka_offset < %s"

ReadingAgain = Callable[[Work, Take], Query]
"""Makes the query that reads a topic once, from its beginning to its end."""


def active_works(database: Database) -> list[Work]:
    """What the active jobs do; a ConfigError says which of them could not run."""
    with database.transaction() as connection:
        return [work for job in list_jobs(connection) if job.is_active for work in works_of(connection, job)]


def reread(database: Database, works: Sequence[Work], reading_again: ReadingAgain) -> Iterator[tuple[Work, Counts]]:
    """Read one topic after the other; how many messages each has, and how many of them were refused.

    The rows of messages that are in Kafka are replaced, batch by batch; rows of others stay. After a crash or an
    exception it can be begun again.
    """
    for work in works:
        query = reading_again(work, partial(_restage, database, work.route.table))
        query.start()
        if (failure := _end_of(query)) is not None:
            raise failure
        yield work, query.counts


def _end_of(query: Query) -> PenstockError | None:
    try:
        while query.is_active:
            time.sleep(_LOOK_SECONDS)
    finally:
        if query.is_active:
            query.stop()
    return query.ended()


def _restage(database: Database, table: TableName, lines: Lines, batch: Batch) -> list[Refusal]:
    with database.transaction() as connection:
        for part in ranges_of(batch):
            _forget(connection, table, part)
        return stage_lines(connection, table, lines)


def _forget(connection: Connection, table: TableName, part: OffsetRange) -> None:
    place = part.partition
    command = sql.SQL(_FORGET).format(sql.Identifier(table))
    connection.execute(command, [place.topic, place.partition, part.start, part.end])
