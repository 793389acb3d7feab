"""Rows into a table of the lake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from penstock.config import Settings
from penstock.config.units import parse_size
from penstock.config.yaml_file import KeyPath
from penstock.pipelines.locations import absolute, jars_for
from penstock.pipelines.sinks.base import SinkConfig, Site, SourceTable
from penstock.spark.changes.history_sink import HistorySink
from penstock.spark.changes.log_sink import ChangeLogSink
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import DEFAULT_TARGET_BYTES, LakeTable
from penstock.spark.sink import Sink

_SMALLEST = 1024


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


class LakeSinkConfig(SinkConfig):
    """Which table, and what its files are."""

    default_trigger: ClassVar[str] = "10 seconds"

    table: str = Field(min_length=1, description="the table's name below the lake; / makes folders")
    format: Literal["parquet", "delta"] = Field("parquet", description="parquet or delta")
    mode: Literal["append", "log", "mirror", "history"] = Field(
        "append", description="log, mirror or history for changes of a database; all are delta"
    )
    deletes: Literal["hard", "soft"] = Field("hard", description="soft: deleted rows stay in a mirror, marked _deleted")
    remember_deletes: int = Field(30, ge=1, le=3650, description="days for which a mirror remembers deleted rows")
    partition_by: list[str] = Field(default_factory=list, description="columns that make folders")
    lake: str | None = Field(None, min_length=1, description="a directory or s3a://bucket/path; default the setting")
    file_size: Annotated[int, BeforeValidator(_bytes), Field(ge=_SMALLEST)] = Field(
        DEFAULT_TARGET_BYTES, description="how large files may get, such as 128MiB"
    )

    @property
    def target(self) -> str:
        """As the base says."""
        return self.table.replace("/", ".")

    def build(self, site: Site) -> Sink:
        """As the base says."""
        table = LakeTable(absolute(self._lake(site.settings)), self.table, tuple(self.partition_by), self.file_size)
        match self.mode:
            case "mirror":
                return MirrorSink(site.session, table, deletes=self.deletes, remember_days=self.remember_deletes)
            case "history":
                return HistorySink(site.session, table)
            case "log":
                return ChangeLogSink(site.session, table, site.query)
            case "append":
                sink = DeltaSink if self.format == "delta" else ParquetSink
                return sink(site.session, table, site.query)

    @property
    def mixes_tables(self) -> bool:
        """As the base says."""
        return "{table}" not in self.table

    def for_table(self, table: SourceTable) -> Self:
        """As the base says."""
        return self.model_copy(update={"table": table.fill(self.table)})

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """As the base says."""
        for index, name in enumerate(self.partition_by):
            yield ("partition_by", index), name

    def jars(self, settings: Settings) -> frozenset[str]:
        """As the base says."""
        return jars_for(self._lake(settings)) | (
            {"delta"} if self.format == "delta" or self.mode != "append" else frozenset()
        )

    def _lake(self, settings: Settings) -> str:
        return self.lake or settings.lake
