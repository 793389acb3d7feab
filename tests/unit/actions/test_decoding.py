from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.actions.decoding import EventDecoder
from penstock.actions.filter import Everything, Filter
from penstock.actions.filters import compile_filter
from penstock.errors import RecordUndecodable, SchemaNotFound
from penstock.events.envelope import EventEnvelope
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from tests.metadata_events import CHANGE_LOG, PLATFORM_EVENT, change_log, entity_change, platform_event

ROUTES = {"m": "mcl", "t": "mcl_timeseries", "p": "pe", "orders": "order"}
RELATIONSHIP = {"sourceUrn": "urn:li:a", "destinationUrn": "urn:li:b", "operation": "ADD", "relationshipType": "Owns"}


class Wire:
    """Writes messages, and counts how often Avro is decoded."""

    def __init__(self) -> None:
        self.codec = AvroCodec(MemoryRegistry())
        self.decoded = 0
        self._avro, self.codec.decode = self.codec.decode, self._counted  # type: ignore[method-assign]

    def _counted(self, data: bytes) -> object:
        self.decoded += 1
        return self._avro(data)

    def encode(self, schema: dict[str, Any], value: object) -> bytes:
        return self.codec.encoder("s", Schema.from_text(json.dumps(schema)))(value)

    def decode(self, topic: str, data: bytes | None, wanted: Filter | None = None) -> EventEnvelope | None:
        record = ConsumerRecord(
            b"k", data, [("h", b"x")], 5, TopicName(topic), Partition(1), Offset(9), has_schema=False
        )
        return EventDecoder(ROUTES, self.codec, wanted or Everything()).decode(record)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def test_an_entity_change_comes_out_of_its_platform_event(wire: Wire) -> None:
    event = wire.decode("p", wire.encode(PLATFORM_EVENT, platform_event(entity_change(3))))
    assert event is not None
    assert (event.event_type, event.event.entityUrn) == ("EntityChangeEvent_v1", "urn:li:dataset:3")
    assert (event.event.auditStamp.actor, event.event.safe_parameters) == (
        "urn:li:corpuser:jane",
        {"tagUrn": "urn:li:tag:pii"},
    )
    place = {"topic": "p", "partition": 1, "offset": 9}
    assert event.meta["kafka"] == {**place, "key": "k", "headers": {"h": "x"}, "timestamp": 5}


def test_a_relationship_change_comes_out_too(wire: Wire) -> None:
    known = wire.decode("p", wire.encode(PLATFORM_EVENT, platform_event(RELATIONSHIP, "relationshipChangeEvent")))
    assert known is not None
    assert (known.event_type, known.event.sourceUrn, known.event.via) == (
        "RelationshipChangeEvent_v1",
        "urn:li:a",
        None,
    )


OTHER_KIND = {"event_type": "notificationEvent"}


@pytest.mark.parametrize(
    ("wanted", "is_delivered"),
    [
        (Everything(), False),
        (compile_filter({"event": {"a": 1}}), False),
        (compile_filter({"event_type": "EntityChangeEvent_v1"}), False),
        (compile_filter(OTHER_KIND), True),
        (compile_filter(None, [{"type": "event_type", "config": {"filter": {"notificationEvent": None}}}]), True),
        (compile_filter(OTHER_KIND, [{"type": "event_type", "config": {"filter": {"other": None}}}]), False),
    ],
)
def test_a_platform_event_of_another_kind_is_dropped_unless_a_filter_names_it(
    wire: Wire, wanted: Filter, is_delivered: bool
) -> None:
    event = wire.decode("p", wire.encode(PLATFORM_EVENT, platform_event({"a": 1}, "notificationEvent")), wanted)
    assert (event is not None) == is_delivered
    assert event is None or (event.event_type, event.event.a) == ("notificationEvent", 1)


@pytest.mark.parametrize("topic", ["m", "t"])
def test_a_change_log_has_its_aspect_as_datahub_gives_it(wire: Wire, topic: str) -> None:
    event = wire.decode(topic, wire.encode(CHANGE_LOG, change_log()))
    assert event is not None
    assert (event.event_type, event.event.changeType) == ("MetadataChangeLogEvent_v1", "UPSERT")
    assert json.loads(event.event.aspect.value) == {"removed": True}
    assert event.event.systemMetadata is None
    assert json.loads(event.as_json())["event"]["aspect"]["value"] == '{"removed":true}'


def test_any_topic_gives_generic_events_of_avro_or_json(wire: Wire) -> None:
    schema = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "int"}]}
    avro = wire.decode("orders", wire.encode(schema, {"id": 4}))
    from_json = wire.decode("orders", b'{"id": 5, "lines": [{"n": 1}]}')
    plain, tombstone = wire.decode("orders", b"[1, 2]"), wire.decode("orders", None)
    assert avro is not None
    assert from_json is not None
    assert plain is not None
    assert tombstone is not None
    assert (avro.event_type, avro.event.id, from_json.event.id) == ("order", 4, 5)
    assert (plain.event.value, tombstone.event.value) == ([1, 2], None)


def test_a_field_that_an_event_type_does_not_have_is_an_error(wire: Wire) -> None:
    event = wire.decode("p", wire.encode(PLATFORM_EVENT, platform_event(entity_change())))
    assert event is not None
    with pytest.raises(AttributeError, match="EntityChangeEvent has no field entityUrm"):
        _ = event.event.entityUrm


@pytest.mark.parametrize(
    ("topic", "data", "error"),
    [
        ("p", b"garbage", RecordUndecodable),
        ("p", b"", RecordUndecodable),
        ("p", b"\0\0\0\0\x63rest", SchemaNotFound),
        ("m", b'{"json": "where Avro should be"}', RecordUndecodable),
        ("orders", b"not json", RecordUndecodable),
        ("orders", b"\xff\xfe", RecordUndecodable),
    ],
)
def test_what_is_no_event_is_told(wire: Wire, topic: str, data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        wire.decode(topic, data)


@pytest.mark.parametrize("payload", [b"not json", b"[1]", b'"text"', b"\xff"])
def test_a_payload_that_is_no_json_object_is_told(wire: Wire, payload: bytes) -> None:
    data = wire.encode(PLATFORM_EVENT, platform_event(payload))
    with pytest.raises(RecordUndecodable, match="payload"):
        wire.decode("p", data)


def test_truncated_avro_and_records_of_another_kind_are_told(wire: Wire) -> None:
    whole = wire.encode(PLATFORM_EVENT, platform_event(entity_change()))
    with pytest.raises(RecordUndecodable):
        wire.decode("p", whole[:-5])
    with pytest.raises(RecordUndecodable, match="no PlatformEvent"):
        wire.decode("p", wire.encode(CHANGE_LOG, change_log()))


@pytest.mark.parametrize("topic", ["m", "t"])
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (PLATFORM_EVENT, platform_event(entity_change())),
        ({"type": "record", "name": "O", "fields": [{"name": "id", "type": "int"}]}, {"id": 4}),
        ({"type": "record", "name": "O", "fields": [{"name": "entityType", "type": "string"}]}, {"entityType": "a"}),
    ],
)
def test_a_record_of_another_kind_is_no_change_log(
    wire: Wire, topic: str, schema: dict[str, Any], value: object
) -> None:
    with pytest.raises(RecordUndecodable, match="no MetadataChangeLog"):
        wire.decode(topic, wire.encode(schema, value))


def test_a_tombstone_among_metadata_events_stands_for_none(wire: Wire) -> None:
    assert wire.decode("p", None) is None
    assert wire.decode("m", None) is None


def test_a_change_log_that_cannot_match_is_not_even_decoded(wire: Wire) -> None:
    wanted = compile_filter({"event_type": "MetadataChangeLogEvent_v1", "event": {"aspectName": "ownership"}})
    data = wire.encode(CHANGE_LOG, change_log())
    assert wire.decode("m", data, wanted) is None
    assert wire.decoded == 0
    assert wire.decode("m", wire.encode(CHANGE_LOG, change_log(aspectName="ownership")), wanted) is not None


def test_payloads_that_cannot_match_are_not_parsed(wire: Wire) -> None:
    wanted = compile_filter({"event_type": "EntityChangeEvent_v1", "event": {"category": "OWNER"}})
    assert wire.decode("p", wire.encode(PLATFORM_EVENT, platform_event(b"{ no json, no such text")), wanted) is None
    other = wire.encode(PLATFORM_EVENT, platform_event(b"{ no json either", "relationshipChangeEvent"))
    assert wire.decode("p", other, wanted) is None


@pytest.mark.parametrize("topic", ["p", "m", "orders"])
def test_garbage_is_told_though_it_cannot_match_either(wire: Wire, topic: str) -> None:
    wanted = compile_filter({"event_type": "none of them", "event": {"category": "OWNER"}})
    with pytest.raises(RecordUndecodable):
        wire.decode(topic, b"garbage", wanted)
