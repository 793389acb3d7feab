"""Lookup of a pipeline's mirrors, for a comparison with the source tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.config.yaml_file import YamlFile
from penstock.connect.postgres import TableName
from penstock.errors import UsageError
from penstock.pipelines.build import Builder
from penstock.pipelines.passage import passage_of
from penstock.pipelines.pipeline import Pipeline, read_pipeline
from penstock.pipelines.protect import Protection
from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.sinks.lake import LakeSinkConfig
from penstock.pipelines.verify.guard import Guard, Passage


@dataclass(frozen=True)
class Mirror:
    """Mirror of a table: name, lake (None: the lake in the settings), and intended differences."""

    name: str
    lake: str | None
    guard: Guard


@dataclass(frozen=True)
class DeclaredMirror:
    """Mirror sink of a pipeline, with the effect of the transforms on each mirror's rows, keyed by mirror name."""

    pipeline: Pipeline
    sink: LakeSinkConfig
    passages: Mapping[str, Passage] = field(default_factory=dict)

    def of(self, table: TableName) -> Mirror:
        """Return the mirror of a table."""
        source = SourceTable(table.schema, table.name)
        sink, protection = self.sink.for_table(source), Protection(self.pipeline.source.protect, source)
        passage = self.passages.get(sink.table, Passage())
        return Mirror(sink.table, sink.lake, Guard(protection.treatment, protection.hashed, passage))


def declared_mirror(file: YamlFile) -> DeclaredMirror:
    """Return the first mirror sink in a pipeline's file. Raise UsageError if there is none."""
    pipeline = read_pipeline(file)
    sink = _mirroring(pipeline)
    if sink:
        return DeclaredMirror(pipeline, sink)
    raise UsageError(f"{file.path} has no sink of mode mirror", hint="name the file of the pipeline that mirrors")


def passages(builders: Iterable[Builder], names: Collection[str]) -> dict[str, Passage]:
    """Return the effect of the transforms on the rows of the named mirrors."""
    found = ((_mirroring(builder.pipeline), builder) for builder in builders)
    return {sink.table: passage_of(builder) for sink, builder in found if sink and sink.table in names}


def _mirroring(pipeline: Pipeline) -> LakeSinkConfig | None:
    configs = (sink.config for sink in pipeline.sinks)
    mirrors = (config for config in configs if isinstance(config, LakeSinkConfig) and config.mode == "mirror")
    return next(mirrors, None)
