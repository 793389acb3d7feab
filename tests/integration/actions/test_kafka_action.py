"""The kafka action on a real broker: forwarding, the change of format, keys, and what Kafka refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from penstock import Consumer
from penstock.actions.builtin.kafka import Kafka, KafkaConfig
from penstock.config import Settings
from penstock.errors import BrokerUnavailable, RecordInvalid, Terminal
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import Event
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from tests.action_context import context, event
from tests.integration.conftest import CreateTopic

SCHEMA = {
    "type": "record",
    "name": "Tagged",
    "fields": [
        {"name": "urn", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "tagged.avsc"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def read(settings: Settings, topic: str, count: int, **options: Any) -> list[ConsumerRecord]:
    with Consumer(topic, settings=settings, **options) as consumer:
        return [next(consumer) for _ in range(count)]


def forward(settings: Settings, topic: str, *events: EventEnvelope, **config: Any) -> None:
    action = Kafka.create({"topic": topic, **config}, context(settings))
    try:
        for one in events:
            action.act(one)
    finally:
        action.close()


def test_events_are_forwarded_as_json_with_key_and_origin(settings: Settings, create_topic: CreateTopic) -> None:
    topic = create_topic()
    forward(settings, topic, event({"a": 1, "aspect": {"value": b'{"x": 2}'}}, offset=9, key="k"))
    (record,) = read(settings, topic, 1, legacy="json")
    assert record.value == {"a": 1, "aspect": {"value": '{"x": 2}'}}
    assert record.key == b"k"
    assert dict(record.headers) == {"penstock.origin": b"t/0/9"}


def test_events_become_avro_of_a_schema(settings: Settings, create_topic: CreateTopic, schema: str) -> None:
    topic = create_topic()
    value = {"urn": "{{ entityUrn }}", "at": "{{ time }}"}
    one = event({"entityUrn": "urn:x", "time": "2026-01-31T12:00:00Z"})
    forward(settings, topic, one, format="avro", schema=schema, value=value, key="entityUrn")
    (record,) = read(settings, topic, 1)
    assert record.has_schema
    assert record.value["urn"] == "urn:x"
    assert record.value["at"].isoformat() == "2026-01-31T12:00:00+00:00"
    assert record.key == b"urn:x"


def test_an_event_that_does_not_fit_the_schema_is_refused_and_not_sent(
    settings: Settings, create_topic: CreateTopic, schema: str
) -> None:
    topic = create_topic()
    action = Kafka.create({"topic": topic, "format": "avro", "schema": schema}, context(settings))
    with pytest.raises(RecordInvalid, match="urn"):
        action.act(event({"at": 1}))
    action.act(event({"urn": "good", "at": 1}))
    action.close()
    assert read(settings, topic, 1)[0].value["urn"] == "good"


def test_raw_forwards_the_bytes_and_headers_as_they_were_read(settings: Settings, create_topic: CreateTopic) -> None:
    topic = create_topic()
    headers = [("h", b"\xff"), ("penstock.origin", b"older/0/1")]
    place = (TopicName("s"), Partition(1), Offset(5))
    records = [ConsumerRecord(b"\x01", value, headers, 1, *place, has_schema=False) for value in (b"\xfe\xff", None)]
    forward(settings, topic, *(EventEnvelope("s", Event({}), None, record) for record in records), format="raw")
    kept, tombstone = read(settings, topic, 2)
    assert (kept.key, kept.value) == (b"\x01", b"\xfe\xff")
    assert dict(kept.headers) == {"h": b"\xff", "penstock.origin": b"s/1/5"}
    assert tombstone.value is None


def test_an_event_from_a_file_has_no_bytes_to_forward(settings: Settings, create_topic: CreateTopic) -> None:
    with pytest.raises(RecordInvalid, match="comes from a file"):
        forward(settings, create_topic(), event({}), format="raw")


def test_a_record_that_kafka_refuses_fails_its_event(settings: Settings, create_topic: CreateTopic) -> None:
    topic = create_topic(max_message_bytes="1000")
    with pytest.raises(Terminal):
        forward(settings, topic, event({"big": "x" * 100_000}), producer_config={"compression.type": "none"})


def test_another_cluster_can_be_named(settings: Settings) -> None:
    quick = settings.model_copy(update={"timeout": 1.0})
    with pytest.raises(BrokerUnavailable):
        forward(quick, "t", connection={"bootstrap": "127.0.0.1:1"})


@pytest.mark.parametrize(
    "wrong",
    [{}, {"topic": "t", "format": "avro"}, {"topic": "t", "schema": "x"}, {"topic": "t", "format": "raw", "key": "a"}],
)
def test_a_wrong_config_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        KafkaConfig.model_validate(wrong)
