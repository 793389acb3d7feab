"""The mirrors that a pipeline makes, for who wants to compare them with their tables."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.yaml_file import YamlFile
from penstock.connect.postgres import TableName
from penstock.errors import UsageError
from penstock.pipelines.pipeline import read_pipeline
from penstock.pipelines.protect import ProtectConfig, Protection
from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.sinks.lake import LakeSinkConfig
from penstock.pipelines.verify.guard import Guard


@dataclass(frozen=True)
class Mirror:
    """One table's mirror: its name, the lake it is in unless that is the setting's, and what is protected in it."""

    name: str
    lake: str | None
    guard: Guard


@dataclass(frozen=True)
class DeclaredMirror:
    """The sink of a file that mirrors tables, and the columns that the file protects."""

    sink: LakeSinkConfig
    protect: ProtectConfig

    def of(self, table: TableName) -> Mirror:
        """The mirror of one table."""
        source = SourceTable(table.schema, table.name)
        sink, protection = self.sink.for_table(source), Protection(self.protect, source)
        return Mirror(sink.table, sink.lake, Guard(protection.treatment, protection.hashed))


def declared_mirror(file: YamlFile) -> DeclaredMirror:
    """The first sink of a pipeline's file that is a mirror."""
    pipeline = read_pipeline(file)
    configs = (sink.config for sink in pipeline.sinks)
    for config in configs:
        if isinstance(config, LakeSinkConfig) and config.mode == "mirror":
            return DeclaredMirror(config, pipeline.source.protect)
    raise UsageError(f"{file.path} has no sink of mode mirror", hint="name the file of the pipeline that mirrors")
