"""Background chores of a pipeline: compact tables, publish schemas of changes, and watch database servers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.lake.compaction.parquet import compact_parquet
from penstock.pipelines.chores import Chore
from penstock.pipelines.formats.debezium import given_columns
from penstock.pipelines.pipeline import Pipeline
from penstock.pipelines.schema_watch import Notes, SchemaWatch
from penstock.pipelines.server_watch import ServerWatch
from penstock.pipelines.sinks.lake import LakeSinkConfig
from penstock.pipelines.source import CHANGES
from penstock.pipelines.tables import by_table
from penstock.schemas import connect_registry
from penstock.spark.changes.upkeep import Upkeep
from penstock.spark.debezium.shapes import ShapeReader
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.table import INTERNAL, LakeTable

_LOOK_SECONDS = 10.0
_ORDERED = frozenset({"mirror", "history"})
_log = logging.getLogger(__name__)


def chores_of(pipeline: Pipeline, session: SparkSession, settings: Settings) -> Iterator[Chore]:
    """Yield the chores of a pipeline. A pipeline without continuous sinks has none."""
    if all(sink.trigger is None for sink in pipeline.sinks):
        return
    if pipeline.source.format == CHANGES:
        yield from _watches(pipeline, session, settings)
    for index, sink in enumerate(pipeline.sinks):
        if sink.trigger and isinstance(sink.config, LakeSinkConfig) and (every := sink.config.compaction_seconds):
            tidier = _Tidier(pipeline, index, session, settings)
            yield Chore(f"compacting the tables of {sink.name}", every, tidier.tidy)


def _watches(pipeline: Pipeline, session: SparkSession, settings: Settings) -> Iterator[Chore]:
    """Yield the chores for watching a captured database's schemas and servers."""
    files = partial(files_at, session=session)
    watch = _schema_watch(pipeline, session, settings, pipeline.spec.options.schema_events)
    yield Chore(f"watching the schemas of {pipeline.spec.name}", _LOOK_SECONDS, watch.look, watch.close)
    servers = ServerWatch(pipeline.source.settings(settings), partial(_ordered_tables, pipeline, settings), files)
    yield Chore(f"watching the servers of {pipeline.spec.name}", _LOOK_SECONDS, servers.look)


def _schema_watch(pipeline: Pipeline, session: SparkSession, base: Settings, target: str | None) -> SchemaWatch:
    settings, state = pipeline.source.settings(base), pipeline.state(base)
    reader = ShapeReader(connect_registry(settings), given_columns(session, pipeline.schema))
    notes = Notes(files_at(state, session), f"{state}/{INTERNAL}/_schemas/{pipeline.spec.name}.json")
    return SchemaWatch(settings, pipeline.source.names, reader, notes, target)


def _ordered_tables(pipeline: Pipeline, settings: Settings) -> dict[str, list[LakeTable]]:
    """Return the mirrors and histories of each topic. Both modes apply changes in the order of the database's log."""
    own = pipeline.source.settings(settings)
    return {
        each.source.topic: [
            sink.config.lake_table(own)
            for sink in each.sinks
            if isinstance(sink.config, LakeSinkConfig) and sink.config.mode in _ORDERED
        ]
        for each in by_table(pipeline, settings)
        if each.source.topic
    }


class _Tidier:
    """Compaction of a sink's tables, including tables created later."""

    def __init__(self, pipeline: Pipeline, sink: int, session: SparkSession, settings: Settings) -> None:
        self._pipeline = pipeline
        self._sink = sink
        self._session = session
        self._settings = settings

    def tidy(self) -> None:
        """Compact each table. A failed table, for example after a conflict with the stream, waits for the next run."""
        for pipeline in by_table(self._pipeline, self._settings):
            config = pipeline.sinks[self._sink].config
            assert isinstance(config, LakeSinkConfig)  # noqa: S101 - a table's sink has the type declared in the file
            table = config.lake_table(pipeline.source.settings(self._settings))
            try:
                if config.is_delta:
                    Upkeep(self._session, config.keep_hours).tidy(table)
                else:
                    compact_parquet(table, table.target_bytes)
            except PenstockError as error:
                _log.warning("table %s is compacted at the next time: %s", config.table, error)
