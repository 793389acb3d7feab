"""A pipeline's file: its outer shape. What stands under each `config:` is up to the type beside it."""

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
    """A text has to match a pattern, and a mistake is told by words."""

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
    """An interval in milliseconds as Spark takes it, from `10 seconds` or `10s`; `available_now` stays as it is."""
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
    """A piece of the file; a key that it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Entry(Part):
    """Something of a type, with the configuration that the type asks for."""

    type: str
    config: dict[str, Any] = Field(default_factory=dict)


class SinkEntry(Entry):
    """A sink: one streaming query."""

    name: Name | None = Field(None, description="default: the type and its target, such as lake-events")
    trigger: Trigger | None = Field(None, description="an interval, or available_now; the default is the type's")


class Options(Part):
    """How the pipeline treats bad records, and where it remembers how far it is."""

    failure_mode: FailureMode = Field("CONTINUE", description="CONTINUE, or THROW to stop at the first bad record")
    dead_letters: Topic | None = Field(None, description="where refused records go; default <name>.dead")
    state: str | None = Field(None, min_length=1, description="where progress is kept; default beside the lake")
    schema_events: Topic | None = Field(SCHEMA_EVENTS, description="where the schemas of captured tables are told")


class Spark(Part):
    """Where Spark runs, and any setting of it."""

    master: Master = "local[*]"
    conf: PassThrough = Field(default_factory=PassThrough)


class PipelineFile(Part):
    """The whole file."""

    name: Name
    owner: str | None = Field(None, max_length=200, description="who to ask; heartbeats carry it")
    source: Entry
    transform: list[Entry] = Field(default_factory=list)
    sinks: list[SinkEntry] = Field(min_length=1, max_length=50)
    options: Options = Options()
    spark: Spark = Spark()

    @property
    def dead_letters(self) -> str:
        """The topic of refused records."""
        return self.options.dead_letters or f"{self.name}.dead"


SchemaUse = Literal["required", "optional", "none"]
