"""The Avro codec against fastavro and the reference implementation: the same bytes mean the same values."""

from __future__ import annotations

import json
from hashlib import md5
from io import BytesIO
from typing import Any

import avro.io
import avro.schema
import fastavro
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.schemas.avro.misreading import misreadings
from tests.fuzz.budget import fuzz
from tests.unit.schemas.strategies import evolved, record_schemas, same, schemas, values

HEAD = 5


def encoded(codec: AvroCodec, schema: Schema, value: Any) -> bytes:
    try:
        return codec.encoder("subject", schema)(value)
    except RecordInvalid as refused:
        assume("to mean" not in refused.hint)
        raise


def without_logical(node: Any) -> Any:
    if isinstance(node, dict) and "logicalType" in node:
        return node["type"]
    if isinstance(node, dict):
        return {key: without_logical(item) for key, item in node.items()}
    return [without_logical(item) for item in node] if isinstance(node, list) else node


def reference(text: str) -> avro.schema.Schema:
    return avro.schema.parse(text)


def read_by_reference(data: bytes, writer: Schema, reader: Schema | None = None) -> Any:
    decoder = avro.io.BinaryDecoder(BytesIO(data))  # type: ignore[no-untyped-call, unused-ignore]
    return avro.io.DatumReader(reference(writer.text), reference((reader or writer).text)).read(decoder)


@fuzz(short=100, long=200_000)
@given(st.data())
def test_fastavro_reads_what_the_codec_writes_and_the_other_way_round(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    codec = AvroCodec(MemoryRegistry())
    message = encoded(codec, schema, value)
    node = json.loads(schema.text)
    assert same(fastavro.schemaless_reader(BytesIO(message[HEAD:]), node, None), codec.decode(message))
    stream = BytesIO()
    fastavro.schemaless_writer(stream, node, value)
    theirs = stream.getvalue()
    assert same(codec.decode(message[:HEAD] + theirs), fastavro.schemaless_reader(BytesIO(theirs), node, None)), (
        "fastavro's bytes"
    )


@fuzz(short=60, long=100_000)
@given(st.data())
def test_the_reference_implementation_reads_what_the_codec_writes(data: st.DataObject) -> None:
    schema = Schema.from_text(json.dumps(without_logical(json.loads(data.draw(schemas()).text))))
    value = data.draw(values(schema))
    codec = AvroCodec(MemoryRegistry())
    message = encoded(codec, schema, value)
    assert same(read_by_reference(message[HEAD:], schema), codec.decode(message))
    assert schema.fingerprint == md5(reference(schema.text).canonical_form.encode(), usedforsecurity=False).hexdigest()


@fuzz(short=60, long=100_000)
@given(st.data())
def test_the_reference_implementation_resolves_schemas_to_the_same_values(data: st.DataObject) -> None:
    writer = Schema.from_text(json.dumps(without_logical(json.loads(data.draw(record_schemas()).text))))
    reader = data.draw(evolved(writer))
    assume(not misreadings(reader.type, writer.type))
    value = data.draw(values(writer))
    registry = MemoryRegistry()
    message = encoded(AvroCodec(registry), writer, value)
    ours = AvroCodec(registry, reader=reader).decode(message)
    try:
        theirs = read_by_reference(message[HEAD:], writer, reader)
    except (avro.errors.SchemaResolutionException, TypeError):
        return  # it knows neither aliases nor the promotion between text and bytes
    assert same(ours, theirs)


@fuzz(short=100, long=200_000)
@given(st.data(), st.binary(max_size=40))
def test_bytes_that_the_codec_reads_are_read_alike_by_fastavro(data: st.DataObject, body: bytes) -> None:
    schema = data.draw(schemas())
    codec = AvroCodec(MemoryRegistry())
    codec.encoder("subject", schema)
    try:
        ours = codec.decode(bytes(4) + b"\1" + body)
    except RecordUndecodable:
        return
    assert same(fastavro.schemaless_reader(BytesIO(body), json.loads(schema.text), None), ours)
