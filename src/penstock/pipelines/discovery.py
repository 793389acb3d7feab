"""Discovery of tables while a driver runs: a new topic matching a pattern gets queries."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import PenstockError, Transient
from penstock.pipelines.build import Builder
from penstock.pipelines.pipeline import Pipeline
from penstock.pipelines.source import CHANGES
from penstock.pipelines.tables import by_table
from penstock.spark.queries.query import Query

_LOOK_SECONDS = 10.0
_log = logging.getLogger(__name__)


class _Known(NamedTuple):
    pipeline: str
    topic: str | None


class Discovery:
    """Roster of the queries of all known tables. Calling the roster checks for new tables every ten seconds.

    Transient failures are retried. An invalid table is logged once and skipped.
    """

    def __init__(
        self, session: SparkSession, settings: Settings, pipelines: Sequence[Pipeline], known: Sequence[Builder]
    ) -> None:
        self._session = session
        self._settings = settings
        self._growing = [each for each in pipelines if is_growing(each)]
        self._known = {_known(builder.pipeline) for builder in known}
        self._queries = [query for builder in known for query in builder.queries()]
        self._next_look = time.monotonic() + _LOOK_SECONDS

    def __call__(self) -> list[Query]:
        """Return the queries to run."""
        if time.monotonic() >= self._next_look:
            self._queries += [query for table in list(self._new_tables()) for query in self._made(table)]
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return self._queries

    def _new_tables(self) -> Iterator[Pipeline]:
        for pipeline in self._growing:
            try:
                tables = by_table(pipeline, self._settings)
            except PenstockError as error:
                _log.warning("%s cannot look for new tables: %s", pipeline.spec.name, error)
            else:
                yield from (table for table in tables if _known(table) not in self._known)

    def _made(self, table: Pipeline) -> list[Query]:
        try:
            found = Builder(table, self._session, self._settings).queries()
        except Transient as error:
            _log.warning("%s has a new table, %s, which is tried again: %s", table.spec.name, table.table, error)
            return []
        except PenstockError as error:
            _log.error("%s has a new table, %s, which is left out: %s", table.spec.name, table.table, error)
            found = []
        self._known.add(_known(table))
        return found


def is_growing(pipeline: Pipeline) -> bool:
    """Whether tables may appear later: the pipeline reads changes by a pattern and runs continuously."""
    source = pipeline.source
    goes_on = any(sink.trigger is not None for sink in pipeline.sinks)
    return source.format == CHANGES and source.pattern is not None and goes_on


def _known(table: Pipeline) -> _Known:
    return _Known(table.spec.name, table.source.topic)
