"""Sink that writes rows to a topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from penstock.config import Settings
from penstock.config.connection import Connection
from penstock.config.secrets import PassThrough
from penstock.config.yaml_file import KeyPath
from penstock.errors import SchemaError
from penstock.pipelines.row_schema import load_schema
from penstock.pipelines.sinks.base import SinkConfig, Site, Target
from penstock.pipelines.spec import Topic
from penstock.schemas import Schema
from penstock.spark.sinks.kafka_sink import KafkaSink, TopicFormat, TopicTarget
from penstock.spark.sinks.sink import Sink


class KafkaSinkConfig(SinkConfig):
    """Topic, and format of the records."""

    default_trigger: ClassVar[str] = "200 milliseconds"

    topic: Topic
    format: TopicFormat = Field("avro", description="avro or json")
    key: str | None = Field(None, min_length=1, description="the column whose text is the record's key")
    schema_: str | None = Field(None, alias="schema", min_length=1, description="an Avro file; default from the rows")
    schema_ids: Literal["int", "long", "uuid"] | None = Field(None, description="4, 8 or 16 bytes; default the setting")
    partitions: int | None = Field(None, ge=1, description="of a topic that is made; default the brokers'")
    replication: int | None = Field(None, ge=1, description="of a topic that is made; default the brokers'")
    connection: Connection | None = Field(None, description="another cluster than the source's")
    options: PassThrough = Field(default_factory=PassThrough, description="any option of Spark's Kafka sink")

    @field_validator("options")
    @classmethod
    def _not_ours(cls, given: PassThrough) -> PassThrough:
        for name in given:
            if name.lower() in {"topic", "kafka.bootstrap.servers"}:
                raise ValueError(f"{name} is set by Penstock; the keys of config say the same")
        return given

    @property
    def target(self) -> str:
        """Return the topic."""
        return self.topic

    @property
    def writes(self) -> Target:
        """Return the topic as the sink's output."""
        return Target("topic", self.topic)

    def build(self, site: Site) -> Sink:
        """Create the sink for the topic, on the configured cluster."""
        target = TopicTarget(
            self.topic,
            format=self.format,
            key=self.key,
            schema=self._schema(site),
            partitions=self.partitions,
            replication=self.replication,
            options=self.options,
        )
        return KafkaSink(self._settings(site.settings), target)

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the key column, if configured."""
        if self.key is not None:
            yield ("key",), self.key

    def _settings(self, base: Settings) -> Settings:
        found = self.connection.settings(base) if self.connection else base
        return found.model_copy(update={"schema_ids": self.schema_ids}) if self.schema_ids else found

    def _schema(self, site: Site) -> Schema | None:
        found = load_schema(self.schema_, site.directory) if self.schema_ else None
        if found is not None and not isinstance(found, Schema):
            raise SchemaError("a topic's schema is an Avro file, not DDL", hint="name an .avsc file, or leave it out")
        return found
