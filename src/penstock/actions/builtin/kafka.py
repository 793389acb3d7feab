"""`kafka`: forward every event to a topic, as JSON, as Avro, or as the original bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from penstock.actions.action import Action
from penstock.actions.body import body_of
from penstock.actions.context import PipelineContext
from penstock.actions.expressions import scope_of
from penstock.actions.expressions.field import ExpressionField, TemplateField
from penstock.actions.origin import ORIGIN_HEADER, origin_of
from penstock.config.connection import Connection
from penstock.config.secrets import PassThrough
from penstock.errors import RecordInvalid
from penstock.events.envelope import EventEnvelope
from penstock.events.fields import as_plain
from penstock.kafka.deliveries import TOMBSTONE
from penstock.kafka.producer import Producer
from penstock.schemas import Schema
from penstock.schemas.from_json import from_json


class KafkaConfig(BaseModel):
    """Target topic and format."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    topic: str = Field(min_length=1, max_length=249, description="where to")
    format: Literal["json", "avro", "raw"] = Field("json", description="raw: key, value and headers as they were read")
    schema_: Path | None = Field(None, alias="schema", description="an .avsc file, for avro")
    value: TemplateField | None = Field(None, description="a template; default: the event, without its envelope")
    key: ExpressionField | None = Field(None, description="an expression; default: the key that it came with")
    connection: Connection | None = Field(None, description="another cluster and registry than the source's")
    producer_config: PassThrough = Field(default_factory=PassThrough, description="any librdkafka setting")
    timeout: float = Field(30.0, gt=0, le=3600, description="seconds until Kafka must have acknowledged")

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if (self.format == "avro") != (self.schema_ is not None):
            raise ValueError("format: avro and schema go together")
        if self.format == "raw" and (self.value is not None or self.key is not None):
            raise ValueError("format: raw forwards what was read, so it takes no value and no key")
        return self


class Kafka(Action):
    """Sends each event; done when all in-sync replicas have the record.

    Events in work at once (`concurrency`) are sent together. The header `penstock.origin` holds the source position of
    the event, so that receivers can detect repeats.
    """

    Config: ClassVar[type[BaseModel]] = KafkaConfig

    def __init__(self, config: KafkaConfig, producer: Producer, prepare: Callable[[object], object]) -> None:
        self._config = config
        self._producer = producer
        self._prepare = prepare

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Connect to the cluster of the config, or else to the source's cluster."""
        checked = KafkaConfig.model_validate(config)
        settings = checked.connection.settings(ctx.settings) if checked.connection else ctx.settings
        schema = Schema.from_file(checked.schema_) if checked.schema_ else None
        producer = Producer(
            checked.topic,
            schema,
            serializer=None if schema else _as_bytes,
            key_type="bytes",
            linger_ms=0,
            delivery_timeout=checked.timeout,
            settings=settings,
            options=checked.producer_config,
        )
        return cls(checked, producer, (lambda value: from_json(value, schema.type)) if schema else _same)

    def act(self, event: EventEnvelope) -> None:
        """Send one event, and wait for the acknowledgement."""
        if self._config.format == "raw":
            self._forward(event)
            return
        value = self._config.value(scope_of(event)) if self._config.value else body_of(event)
        self._producer.send_sync(self._prepare(as_plain(value)), key=self._key(event), headers=_origin(event))

    def close(self) -> None:
        """Disconnect. No records are pending."""
        self._producer.close()

    def _forward(self, event: EventEnvelope) -> None:
        record = event.record
        if record is None:
            raise RecordInvalid("the event comes from a file, so its bytes are not there to be forwarded")
        value = TOMBSTONE if record.value is None else record.value
        kept = [(name, data) for name, data in record.headers if name != ORIGIN_HEADER]
        self._producer.send_sync(value, key=record.key, headers=[*kept, *_origin(event)])

    def _key(self, event: EventEnvelope) -> bytes | None:
        if self._config.key is None:
            return event.record.key if event.record else _text(event.meta.get("kafka", {}).get("key"))
        return _text(self._config.key(scope_of(event)))


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


def _same(value: object) -> object:
    return value


def _text(value: object) -> bytes | None:
    """Return a key as UTF-8 text. A key of any other type is encoded as JSON."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else msgspec.json.encode(as_plain(value))


def _origin(event: EventEnvelope) -> list[tuple[str, bytes]]:
    origin = origin_of(event)
    return [(ORIGIN_HEADER, origin.encode())] if origin else []
