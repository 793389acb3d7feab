"""Schemas through the real registry: ids of every width, evolution, references and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.config import Settings
from penstock.errors import SchemaIncompatible, SchemaNotFound, UsageError
from penstock.schemas import AvroCodec, IdWidth, Reference, Schema, connect_registry
from penstock.schemas.evolution import Compatibility, reasons_against
from penstock.schemas.registry.admin import RegistryAdmin

SENSOR = {"name": "sensor", "type": "string"}
CELSIUS = {"name": "celsius", "type": "double"}
HUMIDITY = {"name": "humidity", "type": ["null", "double"], "default": None}
VALUE = {"sensor": "roof", "celsius": 21.5}


def reading(*fields: Any) -> Schema:
    return Schema.from_text(json.dumps({"type": "record", "name": "Reading", "fields": list(fields)}))


V1, V2 = reading(SENSOR, CELSIUS), reading(SENSOR, CELSIUS, HUMIDITY)


@pytest.fixture
def subject(topic: str) -> str:
    return f"{topic}-value"


def test_ids_of_every_width_are_written_and_read_side_by_side(settings: Settings, subject: str) -> None:
    registry = connect_registry(settings)
    messages = [AvroCodec(registry, width=width).encoder(subject, V1)(VALUE) for width in IdWidth]
    codec = AvroCodec(connect_registry(settings))
    assert [codec.decode(message) for message in messages] == [VALUE] * 3
    assert len({len(message) for message in messages}) == 3


def test_the_by_id_kind_reads_what_was_registered(settings: Settings, subject: str) -> None:
    registered = connect_registry(settings).register(subject, V1)
    plain = connect_registry(settings.model_copy(update={"registry_api": "by-id"}))
    assert plain.by_id(registered.schema_id).fingerprint == plain.by_id(V1.fingerprint).fingerprint == V1.fingerprint
    message = AvroCodec(plain, width=IdWidth.UUID).encoder(subject, V1)(VALUE)
    assert AvroCodec(plain).decode(message) == VALUE


def test_confluents_own_serializer_and_ours_read_each_other(settings: Settings, topic: str, subject: str) -> None:
    codec, context = AvroCodec(connect_registry(settings)), SerializationContext(topic, MessageField.VALUE)
    with SchemaRegistryClient({"url": settings.registry}) as client:
        assert codec.decode(AvroSerializer(client, V1.text)(VALUE, context)) == VALUE
        assert AvroDeserializer(client)(codec.encoder(subject, V1)(VALUE), context) == VALUE


def test_versions_are_kept_in_order_and_found_again(settings: Settings, subject: str) -> None:
    registry = connect_registry(settings)
    first, second = registry.register(subject, V1), registry.register(subject, V2)
    assert (first.version, second.version) == (1, 2)
    assert registry.register(subject, V1) == first == registry.lookup(subject, V1)
    assert registry.by_version(subject, "latest").schema.fingerprint == V2.fingerprint
    assert registry.by_version(subject, 1).schema_id == first.schema_id
    assert registry.by_id(first.schema_id).fingerprint == V1.fingerprint


def test_old_and_new_programs_read_each_other(settings: Settings, subject: str) -> None:
    registry = connect_registry(settings)
    old = AvroCodec(registry).encoder(subject, V1)(VALUE)
    new = AvroCodec(registry).encoder(subject, V2)({**VALUE, "humidity": 40.0})
    knows_v1, knows_v2 = AvroCodec(registry, reader=V1), AvroCodec(registry, reader=V2)
    assert [knows_v1.decode(old), knows_v1.decode(new)] == [VALUE, VALUE]
    assert [knows_v2.decode(old), knows_v2.decode(new)] == [{**VALUE, "humidity": None}, {**VALUE, "humidity": 40.0}]


@pytest.mark.parametrize(
    "new",
    [
        V2,
        reading(SENSOR),
        reading(SENSOR, {"name": "celsius", "type": "float"}),
        reading(SENSOR, {"name": "celsius", "type": "string"}),
        reading(SENSOR, CELSIUS, {"name": "station", "type": "string"}),
        reading({"name": "sensor", "type": ["null", "string"]}, CELSIUS),
        reading({"name": "sensor", "type": "bytes"}, CELSIUS),
        Schema.from_text('{"type": "record", "name": "Other", "fields": []}'),
        Schema.from_text('"string"'),
    ],
)
@pytest.mark.parametrize("level", ["BACKWARD", "FORWARD", "FULL_TRANSITIVE"])
def test_our_reasons_agree_with_the_registrys_verdict(
    settings: Settings, subject: str, new: Schema, level: str
) -> None:
    admin = RegistryAdmin(settings)
    admin.schemas.register(subject, V1)
    admin.set_compatibility(subject, Compatibility(level))
    assert admin.compatibility(subject) is Compatibility(level)
    reasons = reasons_against(new, admin.history(subject), Compatibility(level))
    assert admin.accepts(subject, new) == (not reasons), reasons


def test_a_version_that_the_rule_forbids_is_refused_with_the_registrys_reasons(
    settings: Settings, subject: str
) -> None:
    registry = connect_registry(settings)
    registry.register(subject, V1)
    with pytest.raises(SchemaIncompatible, match=subject) as caught:
        registry.register(subject, reading(SENSOR, {"name": "celsius", "type": "string"}))
    assert "/fields/1/type" in str(caught.value.details["reasons"])


def test_named_types_of_another_subject_are_used_by_reference(settings: Settings, subject: str) -> None:
    registry = connect_registry(settings)
    place = Schema.from_text(json.dumps({"type": "record", "name": "demo.Place", "fields": [SENSOR]}))
    registered = registry.register(f"{subject}-place", place)
    reference = Reference("demo.Place", registered.subject, registered.version, place)
    text = json.dumps({"type": "record", "name": "demo.Visit", "fields": [{"name": "at", "type": "demo.Place"}]})
    schema = Schema.from_text(text, [reference])
    message = AvroCodec(registry).encoder(subject, schema)({"at": {"sensor": "roof"}})
    assert AvroCodec(connect_registry(settings)).decode(message) == {"at": {"sensor": "roof"}}


def test_what_is_not_there_is_told_by_what_was_looked_for(settings: Settings, subject: str) -> None:
    registry = connect_registry(settings)
    with pytest.raises(SchemaNotFound, match="schema id 999999999"):
        registry.by_id(999_999_999)
    with pytest.raises(SchemaNotFound, match="ab" * 16):
        registry.by_id("ab" * 16)
    with pytest.raises(SchemaNotFound, match=f"the newest version of {subject}"):
        registry.by_version(subject, "latest")
    with pytest.raises(SchemaNotFound, match=f"this schema under {subject}"):
        registry.lookup(subject, V1)
    registry.register(subject, V1)
    with pytest.raises(SchemaNotFound, match=f"version 7 of {subject}"):
        registry.by_version(subject, 7)


def test_a_deleted_schema_can_still_be_read_until_it_is_gone_for_good(settings: Settings, subject: str) -> None:
    admin = RegistryAdmin(settings)
    registered = admin.schemas.register(subject, V1)
    message = AvroCodec(admin.schemas).encoder(subject, V1)(VALUE)
    assert admin.delete(subject) == [1]
    assert subject not in admin.subjects()
    assert AvroCodec(connect_registry(settings)).decode(message) == VALUE
    admin.delete(subject, permanent=True)
    assert admin.versions(subject) == []
    assert registered.version == 1


def test_the_by_id_kind_cannot_be_administered(settings: Settings) -> None:
    with pytest.raises(UsageError, match="by id only"):
        RegistryAdmin(settings.model_copy(update={"registry_api": "by-id"}))
