"""Serdes of a producer: Avro with a schema, or the user's own serializer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import RecordInvalid, UsageError
from penstock.kafka.keys import Serde
from penstock.schemas import AvroCodec, IdWidth, Schema, SchemaRegistry
from penstock.schemas.avro.binary import reader
from penstock.schemas.avro.model import PRIMITIVES
from penstock.schemas.registry import Version

SchemaSource = Schema | Path | str | Mapping[str, Any] | Sequence[Any]
Serializer = Callable[[Any], bytes]

_SOURCES = "name a schema (an .avsc file, Avro text or a dict), a registered subject, or a serializer of your own"


def as_schema(source: SchemaSource) -> Schema:
    """Return a schema from a Schema, the path of an .avsc file, Avro JSON as text or dict, or a primitive's name."""
    if isinstance(source, Schema):
        return source
    if not isinstance(source, str | Path) or source in PRIMITIVES:
        return Schema.from_text(json.dumps(source))
    if isinstance(source, str) and source.lstrip().startswith(("{", "[", '"')):
        return Schema.from_text(source)
    return Schema.from_file(source)


class SchemaSerdes:
    """Serdes for the schemas of a topic, stored in a registry."""

    def __init__(self, registry: SchemaRegistry, width: IdWidth, topic: str, *, register: bool) -> None:
        self._registry = registry
        self._width = width
        self._topic = topic
        self._register = register

    def values(self, schema: SchemaSource | None, subject: str | None, version: Version) -> Serde:
        """Return the serde of the given schema, or else of the version registered under the subject."""
        named = subject or f"{self._topic}-value"
        if schema is not None:
            return self._serde(named, as_schema(schema), register=self._register)
        return self._serde(named, self._registry.by_version(named, version).schema, register=False)

    def keys(self, schema: SchemaSource) -> Serde:
        """Return the serde of keys with this schema."""
        return self._serde(f"{self._topic}-key", as_schema(schema), register=self._register)

    def _serde(self, subject: str, schema: Schema, *, register: bool) -> Serde:
        encode = AvroCodec(self._registry, width=self._width).encoder(subject, schema, register=register)
        return Serde(encode, reader(schema.type, self._width.body))


def own_serde(serializer: Serializer) -> Serde:
    """Return the serde of a user's serializer. Values are read back as bytes."""

    def encode(value: object) -> bytes:
        data: object = serializer(value)
        if not isinstance(data, bytes):
            raise RecordInvalid(f"the serializer returned {type(data).__name__}, not bytes")
        return data

    return Serde(encode, lambda data: data)


def check_one_source(schema: object, subject: str | None, serializer: Serializer | None) -> None:
    """Raise UsageError unless there is either a schema or a serializer."""
    if schema is None and subject is None and serializer is None:
        raise UsageError("a producer needs a schema for its values", hint=_SOURCES)
    if serializer is not None and (schema is not None or subject is not None):
        raise UsageError("a producer takes a schema or a serializer, not both", hint=_SOURCES)
