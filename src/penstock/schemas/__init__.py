"""Schemas: registry clients, wire formats, Avro codecs, evolution."""

from penstock.schemas.codec import AvroCodec
from penstock.schemas.registry import (
    MemoryRegistry,
    RegisteredSchema,
    SchemaRegistry,
    connect_registry,
)
from penstock.schemas.schema import Reference, Schema
from penstock.schemas.subjects import SubjectNaming, subject_name
from penstock.schemas.wire import IdWidth, SchemaId, claims_schema

__all__ = [
    "AvroCodec",
    "IdWidth",
    "MemoryRegistry",
    "Reference",
    "RegisteredSchema",
    "Schema",
    "SchemaId",
    "SchemaRegistry",
    "SubjectNaming",
    "claims_schema",
    "connect_registry",
    "subject_name",
]
