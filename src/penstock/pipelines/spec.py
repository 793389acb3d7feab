"""Outer structure of a pipeline file. The type of each entry defines the content of its `config:`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from penstock.config.secrets import PassThrough
from penstock.config.units import parse_duration_ms
from penstock.errors import UsageError
from penstock.events.schema_change import SCHEMA_EVENTS
from penstock.spark.queries.batch import FailureMode

AVAILABLE_NOW = "available_now"

_INTERVAL = re.compile(r"(?P<number>\d+)\s*(?P<unit>milli|second|minute|hour|day)\w*", re.IGNORECASE)
_UNITS = {"milli": "ms", "second": "s", "minute": "m", "hour": "h", "day": "d"}


def worded(pattern: str, words: str) -> AfterValidator:
    """Return a validator for a pattern. The error message describes the expected text with `words`."""

    def check(given: str) -> str:
        if not re.fullmatch(pattern, given):
            raise ValueError(f"{given!r} is not {words}")
        return given

    return AfterValidator(check)


Name = Annotated[str, worded(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "a name: up to 100 letters, digits, '.', '_' and '-'")]
Topic = Annotated[
    str, worded(r"[A-Za-z0-9._-]{1,249}", "the name of a topic: up to 249 letters, digits, '.', '_' and '-'")
]
Master = Annotated[
    str,
    worded(
        r"local(\[[\w*,]+\])?|spark://.+|yarn|k8s://.+",
        "a master of Spark: local[*], spark://host:7077, yarn or k8s://https://host:port",
    ),
]


def parse_trigger(value: object) -> object:
    """Convert an interval such as `10 seconds` or `10s` to milliseconds for Spark. Keep `available_now`."""
    if not isinstance(value, str) or value == AVAILABLE_NOW:
        return value
    words = _INTERVAL.fullmatch(value.strip())
    try:
        length = parse_duration_ms(f"{words['number']}{_UNITS[words['unit'].lower()]}" if words else value)
    except UsageError:
        raise ValueError(f"{value!r} is neither an interval such as 10 seconds nor {AVAILABLE_NOW}") from None
    return f"{length} milliseconds"


Trigger = Annotated[str, BeforeValidator(parse_trigger)]


class Part(BaseModel):
    """Section of the file. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Entry(Part):
    """Entry of a given type, with its configuration."""

    type: str
    config: dict[str, Any] = Field(default_factory=dict)


class SinkEntry(Entry):
    """Sink entry. Each sink becomes a streaming query."""

    name: Name | None = Field(None, description="default: the type and its target, such as lake-events")
    trigger: Trigger | None = Field(None, description="an interval, or available_now; the default is the type's")


class Options(Part):
    """Handling of bad records, and location of the progress."""

    failure_mode: FailureMode = Field("CONTINUE", description="CONTINUE, or THROW to stop at the first bad record")
    dead_letters: Topic | None = Field(None, description="where refused records go; default <name>.dead")
    state: str | None = Field(None, min_length=1, description="where progress is kept; default beside the lake")
    schema_events: Topic | None = Field(SCHEMA_EVENTS, description="where the schemas of captured tables are told")


class Spark(Part):
    """Spark master and Spark settings."""

    master: Master = "local[*]"
    conf: PassThrough = Field(default_factory=PassThrough)


class PipelineFile(Part):
    """Complete pipeline file."""

    name: Name
    owner: str | None = Field(None, max_length=200, description="who to ask; heartbeats carry it")
    source: Entry
    transform: list[Entry] = Field(default_factory=list)
    sinks: list[SinkEntry] = Field(min_length=1, max_length=50)
    options: Options = Options()
    spark: Spark = Spark()

    @property
    def dead_letters(self) -> str:
        """Topic for dead letters."""
        return self.options.dead_letters or f"{self.name}.dead"


SchemaUse = Literal["required", "optional", "none"]
