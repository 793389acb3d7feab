"""Format of a pipeline's file: every key with its meaning and default. Files for DataHub Actions are valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from penstock.actions.source_spec import KafkaSource, Part
from penstock.config.fields import Seconds, Size, Topic
from penstock.config.secrets import Section

FailureMode = Literal["CONTINUE", "THROW"]
Ordering = Literal["key", "partition", "none"]

_MIB = 1024 * 1024
_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
_NOT_IN_FILES = re.compile(r"[^\w\-_]")


def _or_empty(value: object) -> object:
    """Replace None by an empty map: YAML yields None if all lines under a key are comments."""
    return {} if value is None else value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Config = Annotated[dict[str, Any], BeforeValidator(_or_empty)]


class Plugin(Part):
    """Action or transformer: a built-in name, an entry point or a `module:Class`, with its settings."""

    type: str = Field(min_length=1)
    config: Config = Field(default_factory=dict)


class Source(Part):
    """Source of events."""

    type: Literal["kafka"] = "kafka"
    config: Annotated[KafkaSource, BeforeValidator(_or_empty)] = Field(default_factory=KafkaSource)


class Options(Part):
    """Options for failures and concurrency."""

    retry_count: int = Field(0, ge=0, le=1000, description="attempts after the first one")
    retry_backoff: Seconds = Field(0.5, description="before the first retry; doubles with each, and varies by chance")
    retry_backoff_max: Seconds = Field(30.0, description="the longest pause between two attempts")
    retry_on: Literal["transient", "any"] | None = Field(None, description="which errors; default any, as in DataHub")
    failure_mode: Annotated[FailureMode, BeforeValidator(_upper)] = Field("CONTINUE", description="or THROW")
    failed_events_dir: Path | None = Field(None, description="default: actions/ in the setting `data`")
    dead_letters: Topic | Literal[False] | None = Field(None, description="topic; default NAME.dead, false for none")
    concurrency: int = Field(1, ge=1, le=1024, description="events in work at once, in each process")
    ordering: Ordering = Field("key", description="which events wait for each other when several are in work")
    workers: int = Field(1, ge=1, le=64, description="processes, which share the partitions")
    buffer: int = Field(5_000, ge=1, description="events that may be read and not yet done")
    buffer_bytes: Size = Field(64 * _MIB, description="and the bytes of their messages")
    shutdown_timeout: Seconds = Field(30.0, description="how long an end or a rebalance waits for what is in work")
    stuck_after: Seconds = Field(300.0, description="/healthz is red when an event is in work for so long")

    def letters(self, pipeline: str) -> str | None:
        """Return the dead-letter topic of a pipeline, or None if disabled."""
        if self.dead_letters is False:
            return None
        return self.dead_letters or f"{_NOT_IN_TOPICS.sub('_', pipeline)}.dead"


class PipelineSpec(Part):
    """One pipeline. The `name` is the default consumer group, so several machines with one file share the load."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    enabled: bool = True
    source: Source = Field(default_factory=Source)
    filter: dict[str, Any] | None = None
    filters: list[dict[str, Any]] | None = None
    transform: Annotated[list[Plugin], BeforeValidator(lambda value: value or [])] = Field(default_factory=list)
    action: Plugin
    datahub: Section | None = Field(None, description="DataHub's server, for `ctx.graph` of classes written for it")
    options: Annotated[Options, BeforeValidator(_or_empty)] = Field(default_factory=Options, validate_default=True)

    @field_validator("options")
    @classmethod
    def _reads_no_letters(cls, options: Options, info: ValidationInfo) -> Options:
        """Reject a source with the pipeline's own dead-letter topic: the pipeline would never finish."""
        source, name = info.data.get("source"), info.data.get("name")
        letters = options.letters(name) if name else None
        if source is not None and letters in source.config.routes():
            raise ValueError(f"dead_letters: the source reads the topic {letters}, so name another one, or false")
        return options

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.source.config.stateless and self.options.workers > 1:
            raise ValueError("stateless needs workers: 1, since without a group every process reads everything")
        return self

    @property
    def dead_letters(self) -> str | None:
        """Dead-letter topic, or None if disabled."""
        return self.options.letters(self.name)

    @property
    def directory(self) -> str:
        """Directory name of the pipeline, derived as in DataHub."""
        return _NOT_IN_FILES.sub("_", self.name).lower()
