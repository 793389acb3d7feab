"""Queries for the works of jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.catalog.database import Database
from penstock.catalog.intake import take_lines
from penstock.catalog.jobs.left_out import LeftOut
from penstock.catalog.jobs.progress import JobProgress
from penstock.catalog.jobs.settings import job_settings
from penstock.catalog.jobs.sink import CatalogSink, Take
from penstock.catalog.jobs.spec import JobSpec
from penstock.catalog.jobs.work import Work
from penstock.catalog.processors import make_processor
from penstock.catalog.staging.copying import Lines
from penstock.catalog.staging.rows import Refusal
from penstock.catalog.staging.tables import TableName
from penstock.config import Settings
from penstock.events.record import GroupName
from penstock.schemas import IdWidth, connect_registry
from penstock.spark.avro.topic import TopicAvro
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.kafka_source import KafkaSource
from penstock.spark.open_session import open_session
from penstock.spark.queries.batch import BatchPath
from penstock.spark.queries.query import Query, QuerySpec
from penstock.spark.queries.state import NoState, State
from penstock.spark.sinks.sink import Batch

MOST_RECORDS = 100_000
"""Limit of messages per batch, because its rows pass through the driver's memory."""


class NoDeadLetters(DeadLetters):
    """Dead letters that are discarded. Messages rejected on a reread were stored as dead letters the first time."""

    def prepare(self, sources: Collection[str]) -> None:
        """Do nothing: there is no topic to create."""

    def write(self, refused: DataFrame) -> None:
        """Discard the messages."""


@dataclass(frozen=True)
class Workshop:
    """Creates the queries of works."""

    session: SparkSession
    settings: Settings
    database: Database

    def query(self, work: Work) -> Query:
        """Return the query that processes a work continuously."""
        trigger = f"{work.spec.trigger_ms} milliseconds"
        left_out = self._left_out(work)
        state = JobProgress(self.database, work.progress, left_out)
        return self._query(
            work, partial(self._take, work.route.table), left_out, state, trigger=trigger, letters=DeadLetters
        )

    def reading_again(self, work: Work, take: Take) -> Query:
        """Return a query that reads the topic's current content once. Its progress is not stored."""
        spec = replace(work.spec, start="earliest", group=f"{work.spec.group}.rebuild")
        work = replace(work, spec=spec)
        return self._query(work, take, self._left_out(work), NoState(), trigger=None, letters=NoDeadLetters)

    def _left_out(self, work: Work) -> LeftOut:
        return LeftOut(make_processor(work.route.processor, work.clusters))

    def _query(
        self,
        work: Work,
        take: Take,
        left_out: LeftOut,
        state: State,
        *,
        trigger: str | None,
        letters: type[DeadLetters],
    ) -> Query:
        settings = job_settings(self.settings, work.spec)
        path = BatchPath(
            TopicAvro(self.session, connect_registry(settings), work.route.topic, _widths(work.spec)),
            left_out.transform,
            CatalogSink(left_out.columns, take, left_out),
            letters(settings, f"{work.pipeline}.dead", work.pipeline),
        )
        source = KafkaSource(
            settings,
            (work.route.topic,),
            start=work.spec.start,
            max_records=MOST_RECORDS,
            on_data_loss="continue",
        )
        group = GroupName(work.spec.group)
        spec = QuerySpec(work.pipeline, work.route.topic, source, path, state, trigger, group=group)
        return Query(self.session, spec)

    def _take(self, table: TableName, lines: Lines, _batch: Batch) -> list[Refusal]:
        return take_lines(self.database, table, lines) if len(lines) else []


def _widths(spec: JobSpec) -> Sequence[IdWidth]:
    return tuple(IdWidth) if spec.id_type == "any" else (IdWidth(spec.id_type),)


@contextmanager
def open_workshop(
    database: Database, settings: Settings, *, java_home: Path, jars: Sequence[Path]
) -> Iterator[Workshop]:
    """Open a workshop with a new Spark session, or with the process's existing session."""
    with open_session("penstock jobs", java_home=java_home, jars=jars, conf={}) as session:
        yield Workshop(session, settings, database)
