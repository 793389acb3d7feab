"""Source of a pipeline: topics, message format, starting point, and batch size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from penstock.config import Settings
from penstock.config.connection import Connection
from penstock.config.secrets import PassThrough
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError
from penstock.kafka.start import is_pattern, moment
from penstock.pipelines.formats import FORMATS
from penstock.pipelines.protect import ProtectConfig
from penstock.pipelines.spec import Part, Topic
from penstock.spark.kafka_source import KafkaSource, OnDataLoss

_OURS = {
    "assign",
    "subscribe",
    "subscribepattern",
    "startingoffsets",
    "startingtimestamp",
    "startingoffsetsbytimestamp",
    "maxoffsetspertrigger",
    "failondataloss",
    "includeheaders",
    "kafka.bootstrap.servers",
    "kafka.group.id",
}
CHANGES = "debezium"
_GROUP_SETTINGS = ("group.id", "auto.offset.reset", "enable.auto.commit")


def _known_format(name: str) -> str:
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"there is no format {name}; {did_you_mean(name, FORMATS, f'choose one of {known}')}")
    return name


def _start(text: str) -> str:
    try:
        moment(text)
    except UsageError as error:
        raise ValueError(f"{error.message}; earliest, latest, or a time: {error.hint}") from None
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


class KafkaSourceConfig(Part):
    """Configuration of a Kafka source."""

    connection: Connection = Connection()
    topic: Topic | None = Field(None, description="one topic,")
    topics: list[Topic] | None = Field(None, min_length=1, description="several,")
    pattern: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="or all that match from their beginning"
    )
    format: Annotated[str, AfterValidator(_known_format)] = Field(description="what messages are")
    schema_: str | None = Field(None, alias="schema", min_length=1, description="an Avro file, or Spark DDL")
    start: Annotated[str, AfterValidator(_start)] = Field(
        "earliest", description="where the first run begins: earliest, latest, or a time"
    )
    max_records: int | None = Field(
        None, ge=1, description="how many messages one batch takes at most; default: two or five million, by the sink"
    )
    on_data_loss: OnDataLoss = Field("stop", description="stop, or continue where messages are gone")
    protect: ProtectConfig = Field(ProtectConfig(), description="columns of changes that must not be seen")
    options: PassThrough = Field(default_factory=PassThrough, description="any option of Spark's Kafka source")

    @field_validator("connection")
    @classmethod
    def _no_group(cls, connection: Connection) -> Connection:
        for name in _GROUP_SETTINGS:
            if name in connection.consumer_config:
                raise ValueError(f"consumer_config has {name}, but the group is the pipeline's name; see start")
        return connection

    @field_validator("options")
    @classmethod
    def _not_ours(cls, given: PassThrough) -> PassThrough:
        for name in given:
            if name.lower() in _OURS:
                raise ValueError(f"{name} is set by Penstock; the keys of config say the same")
        return given

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if sum(given is not None for given in (self.topic, self.topics, self.pattern)) != 1:
            raise ValueError("give one of topic, topics and pattern")
        use = FORMATS[self.format].schema
        if use == "required" and self.schema_ is None:
            raise ValueError(f"format {self.format} needs a schema: an Avro file, or Spark DDL")
        if use == "none" and self.schema_ is not None:
            raise ValueError(f"format {self.format} takes no schema")
        if self.format != CHANGES and self.protect != ProtectConfig():
            raise ValueError(f"protect is for format {CHANGES}; others have transforms")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Topics to read. A pattern begins with `^`."""
        if self.pattern is not None:
            return (f"^(?:{self.pattern.removeprefix('^')})",)
        return (self.topic,) if self.topic else tuple(self.topics or ())

    def reads(self, topic: str) -> bool:
        """Whether the source reads a topic, now or once the topic exists."""
        return any(re.search(name, topic) if is_pattern(name) else name == topic for name in self.names)

    def settings(self, base: Settings) -> Settings:
        """Return the settings of the source cluster."""
        return self.connection.settings(base)

    def source(self, base: Settings, most_records: int) -> KafkaSource:
        """Create the Spark source. `most_records` is the sink's batch limit, used unless the source sets a limit."""
        return KafkaSource(
            self.settings(base),
            self.names,
            start=moment(self.start),
            max_records=self.max_records or most_records,
            on_data_loss=self.on_data_loss,
            options=self.options,
        )


SOURCES: Mapping[str, type[KafkaSourceConfig]] = {"kafka": KafkaSourceConfig}
