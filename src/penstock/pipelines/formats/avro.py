"""Avro messages with the id of the writer schema."""

from __future__ import annotations

from penstock.errors import SchemaError
from penstock.kafka.admin import Admin
from penstock.kafka.start import find_partitions
from penstock.pipelines.formats.base import Format, Messages
from penstock.pipelines.row_schema import Ddl
from penstock.schemas import connect_registry
from penstock.spark.avro.rows import AvroRows
from penstock.spark.decoding import Decoder


def _decoder(messages: Messages) -> Decoder:
    """Create a decoder to the given schema or, by default, to the topics' newest schemas in the registry."""
    if isinstance(messages.schema, Ddl):
        raise SchemaError("rows from Avro are described by an Avro schema", hint="name an .avsc file, or leave it out")
    registry = connect_registry(messages.settings)
    if messages.schema is not None:
        return AvroRows(messages.session, registry, reader=messages.schema)
    return AvroRows(messages.session, registry, subjects=_subjects(messages))


def _subjects(messages: Messages) -> list[str]:
    with Admin(messages.settings) as admin:
        topics = {partition.topic for partition in find_partitions(admin, messages.topics)}
    return [f"{topic}-value" for topic in sorted(topics)]


FORMAT = Format(schema="optional", decoder=_decoder)
