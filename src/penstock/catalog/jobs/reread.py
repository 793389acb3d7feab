"""Reread of jobs' topics from the beginning, through staging and merge as in the first run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from penstock.catalog.database import Connection, Database, name_beside_values, sql
from penstock.catalog.intake import take_lines
from penstock.catalog.jobs.sink import Take
from penstock.catalog.jobs.store import list_jobs
from penstock.catalog.jobs.work import Work, works_of
from penstock.catalog.staging.copying import Lines, origins
from penstock.catalog.staging.retention import note_back
from penstock.catalog.staging.rows import Refusal
from penstock.catalog.staging.tables import TableName
from penstock.errors import PenstockError
from penstock.events.record import Offset, Origin
from penstock.kafka.offsets import PartitionId
from penstock.spark.queries.narrowing import OffsetRange, ranges_of
from penstock.spark.queries.observing import Counts
from penstock.spark.queries.query import Query
from penstock.spark.sinks.sink import Batch

_LOOK_SECONDS = 0.2
_FORGET = """
DELETE FROM {} WHERE kafka_topic = %s AND kafka_partition = %s AND kafka_offset >= %s AND kafka_offset < %s
    AND kafka_offset <> ALL(%s::bigint[])
"""

ReadingAgain = Callable[[Work, Take], Query]
"""Creates the query that reads a topic once, from beginning to end."""


def active_works(database: Database, own_cluster: str = "") -> list[Work]:
    """Return the works of active jobs. Raise ConfigError with the problems of a job that cannot run."""
    with database.transaction() as connection:
        jobs = [job for job in list_jobs(connection) if job.is_active]
        return [work for job in jobs for work in works_of(connection, job, own_cluster)]


def reread(database: Database, works: Sequence[Work], reading_again: ReadingAgain) -> Iterator[tuple[Work, Counts]]:
    """Read the topics in sequence. Yield the counts of read and rejected messages per topic.

    Rows of messages that are still in Kafka are replaced and merged, batch by batch. A row on which the merge fails is
    rejected, as on first arrival. Rows of other messages stay. The reread can be restarted after a crash or an
    exception.
    """
    for work in works:
        table = work.route.table
        read: dict[PartitionId, Offset] = {}
        query = reading_again(work, partial(_restage, database, table, read))
        query.start()
        if (failure := _end_of(query)) is not None:
            raise failure
        with database.transaction() as connection:
            for place, since in read.items():
                note_back(connection, table, place, since)
        yield work, query.counts


def _end_of(query: Query) -> PenstockError | None:
    try:
        while query.is_active:
            time.sleep(_LOOK_SECONDS)
    finally:
        if query.is_active:
            query.stop()
    return query.ended()


def _restage(
    database: Database, table: TableName, read: dict[PartitionId, Offset], lines: Lines, batch: Batch
) -> list[Refusal]:
    """Store the rows, then remove the rows of messages that yielded none this time.

    `read` collects the offset at which reading of each partition began.
    """
    refusals = take_lines(database, table, lines) if len(lines) else []
    kept = set(origins(lines.table)) - {refusal.row.origin for refusal in refusals}
    with database.transaction() as connection:
        for part in ranges_of(batch):
            read.setdefault(part.partition, part.start)
            _forget_others(connection, table, part, kept)
    return refusals


def _forget_others(connection: Connection, table: TableName, part: OffsetRange, kept: Collection[Origin]) -> None:
    place = part.partition
    offsets = [origin.offset for origin in kept if (origin.topic, origin.partition) == (place.topic, place.partition)]
    command = sql.SQL(_FORGET).format(name_beside_values(table))
    connection.execute(command, [place.topic, place.partition, part.start, part.end, offsets])
