"""Build the queries of a declared pipeline, one per sink."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.pipelines.formats import FORMATS
from penstock.pipelines.formats.base import Messages
from penstock.pipelines.pipeline import DeclaredSink, Pipeline
from penstock.pipelines.sinks.base import Site
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.decoding import Decoder
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.table import INTERNAL
from penstock.spark.queries.batch import BatchPath
from penstock.spark.queries.begun import new_sinks
from penstock.spark.queries.query import Query, QuerySpec
from penstock.spark.queries.state import QueryState
from penstock.spark.sinks.sink import Sink
from penstock.spark.transforms import Transform, chain


@dataclass(frozen=True)
class Builder:
    """Factory for the parts of a pipeline."""

    pipeline: Pipeline
    session: SparkSession
    base: Settings

    @property
    def settings(self) -> Settings:
        """Settings of the source cluster."""
        return self.pipeline.source.settings(self.base)

    def decoder(self) -> Decoder:
        """Create a decoder. Every query needs a separate decoder, because decoders learn while the query runs."""
        source = self.pipeline.source
        messages = Messages(self.session, self.settings, source.names, self.pipeline.schema)
        return FORMATS[source.format].decoder(messages)

    def transform(self) -> Transform:
        """Return all transforms as a chain. Protection runs first, so transforms never see protected values."""
        return chain([self.protection(), *(each.build(self.pipeline.directory) for each in self.pipeline.transforms)])

    def protection(self) -> Transform:
        """Return the transform that hides protected columns."""
        return self.pipeline.protection.transform() if self.pipeline.protection else chain([])

    def sink(self, sink: DeclaredSink) -> Sink:
        """Create one of the sinks."""
        return sink.config.build(self.site(sink))

    def site(self, sink: DeclaredSink) -> Site:
        """Return the inputs for creating a sink."""
        query = f"{self.pipeline.spec.name}.{sink.name}"
        return Site(self.session, self.settings, query, self.pipeline.directory)

    def query(self, sink: DeclaredSink, *, is_new: bool = False) -> Query:
        """Create the query of a sink. `is_new` marks a sink added next to sinks with progress."""
        spec = self.pipeline.spec
        path = BatchPath(
            self.decoder(),
            self.transform(),
            self.sink(sink),
            DeadLetters(self.settings, spec.dead_letters, spec.name),
            spec.options.failure_mode,
        )
        return Query(
            self.session,
            QuerySpec(
                spec.name,
                sink.name,
                self.pipeline.source.source(self.base, sink.config.most_records),
                path,
                state=self._state(sink),
                trigger=sink.trigger,
                owner=spec.owner or "",
                is_new=is_new,
            ),
        )

    def queries(self) -> list[Query]:
        """Create the queries of all sinks."""
        table = f"-{self.pipeline.table}" if self.pipeline.table else ""
        path = f"{self._states}/{self.pipeline.spec.name}{table}/begun.json"
        states = {sink.name: self._state(sink) for sink in self.pipeline.sinks}
        new = new_sinks(files_at(self._states, self.session), path, states)
        return [self.query(sink, is_new=sink.name in new) for sink in self.pipeline.sinks]

    @property
    def _states(self) -> str:
        return f"{self.pipeline.state(self.base)}/{INTERNAL}/_queries"

    def _state(self, sink: DeclaredSink) -> QueryState:
        return QueryState(files_at(self._states, self.session), f"{self._states}/{self.pipeline.spec.name}.{sink.name}")
