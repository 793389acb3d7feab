"""The mirrors that a pipeline makes, for who wants to compare them with their tables."""

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
    """One table's mirror: its name, the lake it is in unless that is the setting's, and what differs on purpose."""

    name: str
    lake: str | None
    guard: Guard


@dataclass(frozen=True)
class DeclaredMirror:
    """The sink of a pipeline that mirrors tables, and how rows pass its transforms, by the names of the mirrors."""

    pipeline: Pipeline
    sink: LakeSinkConfig
    passages: Mapping[str, Passage] = field(default_factory=dict)

    def of(self, table: TableName) -> Mirror:
        """The mirror of one table."""
        source = SourceTable(table.schema, table.name)
        sink, protection = self.sink.for_table(source), Protection(self.pipeline.source.protect, source)
        passage = self.passages.get(sink.table, Passage())
        return Mirror(sink.table, sink.lake, Guard(protection.treatment, protection.hashed, passage))


def declared_mirror(file: YamlFile) -> DeclaredMirror:
    """The first sink of a pipeline's file that is a mirror."""
    pipeline = read_pipeline(file)
    sink = _mirroring(pipeline)
    if sink:
        return DeclaredMirror(pipeline, sink)
    raise UsageError(f"{file.path} has no sink of mode mirror", hint="name the file of the pipeline that mirrors")


def passages(builders: Iterable[Builder], names: Collection[str]) -> dict[str, Passage]:
    """How rows pass the transforms on their way into the mirrors of these names."""
    found = ((_mirroring(builder.pipeline), builder) for builder in builders)
    return {sink.table: passage_of(builder) for sink, builder in found if sink and sink.table in names}


def _mirroring(pipeline: Pipeline) -> LakeSinkConfig | None:
    configs = (sink.config for sink in pipeline.sinks)
    mirrors = (config for config in configs if isinstance(config, LakeSinkConfig) and config.mode == "mirror")
    return next(mirrors, None)
