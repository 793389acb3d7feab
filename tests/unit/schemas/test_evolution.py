from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import RecordInvalid, SchemaIncompatible
from penstock.schemas import AvroCodec, MemoryRegistry, RegisteredSchema, Schema
from penstock.schemas.evolution import Compatibility, reasons_against
from penstock.schemas.misreading import Kind, misreadings
from tests.unit.schemas.strategies import evolved, record_schemas, values


def schema(node: Any) -> Schema:
    return Schema.from_text(json.dumps(node))


def record(*fields: Any, name: str = "Event", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, avro_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": avro_type, **more}


def found(reader: Any, writer: Any) -> list[tuple[Kind, str, str]]:
    return [(item.kind, *item.place) for item in misreadings(schema(reader).type, schema(writer).type)]


@given(st.data())
def test_a_schema_that_is_called_compatible_reads_every_record_of_the_other(data: st.DataObject) -> None:
    writer = data.draw(record_schemas())
    reader = data.draw(evolved(writer))
    assume(not misreadings(reader.type, writer.type))
    registry = MemoryRegistry()
    try:
        message = AvroCodec(registry).encoder("subject", writer)(data.draw(values(writer)))
    except RecordInvalid:
        assume(condition=False)
    try:
        read = AvroCodec(registry, reader=reader).decode(message)
    except SchemaIncompatible as refused:
        assume("string and bytes" not in refused.message)
        raise
    assert isinstance(read, dict)
    assert set(read) == {item["name"] for item in json.loads(reader.text)["fields"]}
