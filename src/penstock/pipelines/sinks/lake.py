"""Sink that writes rows to a table of the lake."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pyspark.sql import types as T  # noqa: N812 - the usual alias

from penstock.config import Settings
from penstock.config.units import parse_size
from penstock.config.yaml_file import KeyPath
from penstock.pipelines.locations import absolute, jars_for
from penstock.pipelines.sinks.base import SinkConfig, Site, SourceTable, Target
from penstock.pipelines.spec import Trigger, parse_trigger
from penstock.spark.changes.history_sink import HistorySink
from penstock.spark.changes.log_sink import ChangeLogSink
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.files import is_local
from penstock.spark.lake.columns import table_columns
from penstock.spark.lake.delta_sink import DeltaSink
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import DEFAULT_TARGET_BYTES, LakeTable
from penstock.spark.sinks.sink import Sink

_SMALLEST = 1024
_NEVER = "never"
_HOUR = 3600
_CHANGES_COMPACTED = "1 hour"
_HAS_EFFECT_IN = {"deletes": ("mirror",), "remember_deletes": ("mirror", "history")}
_MOST_INTO_LOG = 5_000_000
"""Batch size of a log. Each commit costs as much as 200,000 rows, and rows are neither checkpointed nor sorted."""


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


def _seconds(interval: str) -> float:
    return int(str(parse_trigger(interval)).split()[0]) / 1000


def _compaction(mode: str, every: str | None) -> float | None:
    """Return the seconds between compactions; None for never, the default of mode append."""
    chosen = every or (_NEVER if mode == "append" else _CHANGES_COMPACTED)
    return None if chosen == _NEVER else _seconds(chosen)


class LakeSinkConfig(SinkConfig):
    """Table, and layout of the files."""

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
    compact_every: Trigger | Literal["never"] | None = Field(
        None, description="how often files are merged, or never; default 1 hour for changes, never for append"
    )
    keep_versions: Trigger = Field(
        "7 days", description="for how long readers may look at a version of a Delta table that is compacted"
    )

    @field_validator("deletes", "remember_deletes")
    @classmethod
    def _of_tables_that_delete(cls, given: object, info: ValidationInfo) -> object:
        mode, modes = info.data.get("mode"), _HAS_EFFECT_IN[str(info.field_name)]
        if mode is not None and mode not in modes:
            raise ValueError(f"it has no effect in mode {mode}, only in {' and '.join(modes)}; leave it out")
        return given

    @field_validator("keep_versions")
    @classmethod
    def _of_delta_that_is_compacted(cls, given: str, info: ValidationInfo) -> str:
        if info.data.get("mode") == "append" and info.data.get("format") == "parquet":
            raise ValueError("it has no effect on plain Parquet, which has no versions; leave it out")
        if "compact_every" in info.data and not _compaction(info.data["mode"], info.data["compact_every"]):
            raise ValueError("it has no effect without compaction, which removes old versions; set compact_every too")
        if _seconds(given) < _HOUR:
            raise ValueError("readers would lose the files that they read; keep versions for an hour or more")
        return given

    @field_validator("partition_by")
    @classmethod
    def _of_rows_that_stay(cls, given: list[str], info: ValidationInfo) -> list[str]:
        mode = info.data.get("mode", "append")
        if given and mode != "append":
            raise ValueError(
                f"mode {mode} makes no folders, since rows are found by their ranges; leave partition_by out"
            )
        return given

    @property
    def target(self) -> str:
        """Return the table's name with dots instead of slashes."""
        return self.table.replace("/", ".")

    @property
    def writes(self) -> Target:
        """Return the table as the sink's output, prefixed by the sink's own lake if set."""
        return Target("table", f"{self.lake.rstrip('/')}/{self.table}" if self.lake else self.table)

    def stored_columns(self, site: Site) -> T.StructType | None:
        """Return the columns of the existing table."""
        return table_columns(site.session, self.lake_table(site.settings))

    def build(self, site: Site) -> Sink:
        """Create the sink for the table's mode and format."""
        table = self.lake_table(site.settings)
        match self.mode:
            case "mirror":
                return MirrorSink(site.session, table, deletes=self.deletes, remember_days=self.remember_deletes)
            case "history":
                return HistorySink(site.session, table, remember_days=self.remember_deletes)
            case "log":
                return ChangeLogSink(site.session, table, site.query)
            case "append":
                sink = DeltaSink if self.format == "delta" else ParquetSink
                return sink(site.session, table, site.query)

    def lake_table(self, settings: Settings) -> LakeTable:
        """Return the location and layout of the table."""
        return LakeTable(absolute(self._lake(settings)), self.table, tuple(self.partition_by), self.file_size)

    @property
    def compaction_seconds(self) -> float | None:
        """Seconds between compactions; None for never."""
        return _compaction(self.mode, self.compact_every)

    @property
    def is_delta(self) -> bool:
        """Whether the table is a Delta table."""
        return self.format == "delta" or self.mode != "append"

    @property
    def keep_hours(self) -> int:
        """Hours of retention for old versions, rounded up."""
        return math.ceil(_seconds(self.keep_versions) / _HOUR)

    @property
    def most_records(self) -> int:
        """Maximum number of messages per batch; higher for logs."""
        return _MOST_INTO_LOG if self.mode == "log" else super().most_records

    @property
    def mixes_tables(self) -> bool:
        """Whether the table's name lacks `{table}`, so that several tables would share one target."""
        return "{table}" not in self.table

    def for_table(self, table: SourceTable) -> Self:
        """Return the configuration with `{schema}` and `{table}` replaced in the table's name."""
        return self.model_copy(update={"table": table.fill(self.table)})

    def refusals(self, settings: Settings, *, runs_once: bool) -> Iterator[tuple[KeyPath, str, str]]:
        """Yield options without effect, and reasons why the table cannot be compacted during writes."""
        if self.is_delta and self.format == "parquet" and "format" in self.model_fields_set:
            yield ("format",), f"a table of mode {self.mode} is Delta", "leave format out"
        if self.is_delta and self.compaction_seconds is None and "file_size" in self.model_fields_set:
            hint = "set compact_every, or leave file_size out"
            yield ("file_size",), "it has no effect on a Delta table that is not compacted", hint
        if self.compact_every in {None, _NEVER}:
            return
        by_hand = "leave it out; `penstock lake compact` merges files at any time"
        if runs_once:
            yield ("compact_every",), "it has no effect on a sink that runs once", by_hand
        elif not self.is_delta and not is_local(self._lake(settings)):
            hint = "write the table as Delta, or leave compact_every out and choose a longer trigger"
            yield ("compact_every",), "plain Parquet on an object store cannot be compacted", hint

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the columns in `partition_by`."""
        for index, name in enumerate(self.partition_by):
            yield ("partition_by", index), name

    def jars(self, settings: Settings) -> frozenset[str]:
        """Return the parts of the lock for the table's location and format."""
        return jars_for(self._lake(settings)) | ({"delta"} if self.is_delta else frozenset())

    def _lake(self, settings: Settings) -> str:
        return self.lake or settings.lake
