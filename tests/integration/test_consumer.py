from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock import Consumer, Producer
from penstock.config import Settings
from penstock.errors import (
    BrokerUnavailable,
    GroupBusy,
    RecordUndecodable,
    RegistryUnavailable,
    TopicNotFound,
    UsageError,
)
from penstock.schemas import MemoryRegistry, Schema

COUNT = {"type": "record", "name": "Count", "fields": [{"name": "count", "type": "int"}]}
UNKNOWN_ID = b"\x00\x7f\x00\x00\x01rest"
NOWHERE = "localhost:1"

Read = Callable[..., list[Any]]


@pytest.fixture
def read(settings: Settings) -> Read:
    """The values, or another part, of all records that a consumer gives until nothing comes for a moment."""

    def all_records(*args: Any, part: str = "value", **given: Any) -> list[Any]:
        with Consumer(*args, **{"settings": settings, "timeout": 1.5} | given) as consumer:
            return [getattr(record, part) for record in consumer]

    return all_records


def test_a_record_has_key_value_headers_time_and_place(create_topic: Any, fill: Any, settings: Settings) -> None:
    topic, sent = create_topic(), int(time.time() * 1000)
    fill(topic, [b"hello"], key=b"k", headers=[("a", b"1"), ("b", None)], timestamp=sent)
    with Consumer(topic, settings=settings) as consumer:
        record = next(consumer)
    assert (record.key, record.value, record.topic, record.partition, record.offset) == (b"k", b"hello", topic, 0, 0)
    assert list(record.headers) == [("a", b"1"), ("b", None)]
    assert (record.timestamp, record.time) == (sent, datetime.fromtimestamp(sent / 1000, UTC))
    assert str(record.origin) == f"{topic}/0/0"


def test_avro_is_decoded_by_its_own_id_next_to_legacy_data_and_tombstones(
    create_topic: Any, fill: Any, settings: Settings
) -> None:
    topic = create_topic()
    with Producer(topic, COUNT, settings=settings) as producer:
        producer.send({"count": 1})
    with Producer(topic, '"string"', subject=f"{topic}-text", settings=settings) as producer:
        producer.send("two")
    fill(topic, [b"three", None, b""])
    with Consumer(topic, settings=settings, timeout=2) as consumer:
        records = list(consumer)
    assert [record.value for record in records] == [{"count": 1}, "two", b"three", None, b""]
    assert [record.has_schema for record in records] == [True, True, False, False, False]


def test_records_are_given_in_the_form_of_the_readers_schema(create_topic: Any, read: Read, settings: Settings) -> None:
    topic = create_topic()
    with Producer(topic, COUNT, settings=settings) as producer:
        producer.send({"count": 1})
    newer = COUNT | {"fields": [*COUNT["fields"], {"name": "unit", "type": "string", "default": "apples"}]}
    assert read(topic, reader=newer) == [{"count": 1, "unit": "apples"}]


def test_legacy_data_is_read_as_bytes_text_or_json(create_topic: Any, fill: Any, read: Read) -> None:
    topic = create_topic()
    fill(topic, ['["grün"]'.encode()])
    assert read(topic, legacy="bytes") == [b'["gr\xc3\xbcn"]']
    assert read(topic, legacy="text") == ['["grün"]']
    assert read(topic, legacy="json") == [["grün"]]


def test_keys_are_read_in_the_encoding_named(create_topic: Any, fill: Any, read: Read) -> None:
    topic = create_topic()
    fill(topic, [b""], key=bytes([0, 0, 0, 7]))
    assert read(topic, key_type="int", part="key") == [7]
    assert read(topic, part="key") == [bytes([0, 0, 0, 7])]


def test_keys_are_read_as_avro(create_topic: Any, read: Read, settings: Settings) -> None:
    topic = create_topic()
    with Producer(topic, COUNT, key_schema=COUNT, settings=settings) as producer:
        producer.send({"count": 2}, key={"count": 1})
    assert read(topic, key_type="avro", part="key") == [{"count": 1}]


def test_an_undecodable_record_is_an_error_with_its_place_and_the_iteration_goes_on(
    create_topic: Any, fill: Any, settings: Settings
) -> None:
    topic = create_topic()
    fill(topic, [b"one", UNKNOWN_ID, b"three"], key=b"k")
    with Consumer(topic, settings=settings) as consumer:
        assert next(consumer).value == b"one"
        with pytest.raises(RecordUndecodable, match=rf"^{topic}/0/1: ") as caught:
            next(consumer)
        assert next(consumer).value == b"three"
    assert caught.value.details["origin"] == f"{topic}/0/1"
    record: Any = caught.value.details["record"]
    assert (record.key, record.value) == (b"k", UNKNOWN_ID)


def test_a_truncated_value_and_a_key_of_another_type_are_undecodable(
    create_topic: Any, fill: Any, settings: Settings
) -> None:
    topic, registry = create_topic(), MemoryRegistry()
    schema_id = registry.register("texts", Schema.from_text('"string"')).schema_id
    assert isinstance(schema_id, int)
    fill(topic, [b"\x00" + schema_id.to_bytes(4, "big") + b"\x10cut"])
    fill(topic, [b"fine"], key=b"12345")
    with Consumer(topic, settings=settings, registry=registry, key_type="int") as consumer:
        with pytest.raises(RecordUndecodable, match=f"{topic}/0/0"):
            next(consumer)
        with pytest.raises(RecordUndecodable, match=f"{topic}/0/1: key: 5 bytes"):
            next(consumer)


def test_undecodable_records_are_given_as_they_are_on_request(create_topic: Any, fill: Any, read: Read) -> None:
    topic = create_topic()
    fill(topic, [b"one", UNKNOWN_ID])
    assert read(topic, on_undecodable="raw") == [b"one", UNKNOWN_ID]


def test_a_registry_that_does_not_answer_costs_no_record(create_topic: Any, fill: Any, settings: Settings) -> None:
    topic = create_topic()
    fill(topic, [b"one", UNKNOWN_ID])
    quick = settings.model_copy(update={"timeout": 2.0})
    with Consumer(topic, settings=quick, registry=f"http://{NOWHERE}") as consumer:
        assert next(consumer).value == b"one"
        for _ in range(2):
            with pytest.raises(RegistryUnavailable):
                next(consumer)


def test_batches_give_what_is_there_up_to_their_size(create_topic: Any, fill: Any, settings: Settings) -> None:
    topic = create_topic()
    fill(topic, [b"%d" % number for number in range(25)])
    with Consumer(topic, settings=settings, timeout=2) as consumer:
        batches = list(consumer.batches(size=10))
    assert max(map(len, batches)) <= 10
    assert [record.offset for batch in batches for record in batch] == list(range(25))


def test_a_batch_ends_before_an_undecodable_record_and_goes_on_after_it(
    create_topic: Any, fill: Any, settings: Settings
) -> None:
    topic = create_topic()
    fill(topic, [b"one", b"two", UNKNOWN_ID, b"four"])
    with Consumer(topic, settings=settings, timeout=2) as consumer:
        batches = consumer.batches()
        assert [record.value for record in next(batches)] == [b"one", b"two"]
        with pytest.raises(RecordUndecodable):
            next(batches)
        assert [record.value for record in next(batches)] == [b"four"]
        assert list(batches) == []


def test_reading_starts_at_the_earliest_the_latest_or_a_time(
    create_topic: Any, fill: Any, read: Read, settings: Settings
) -> None:
    topic, now = create_topic(), datetime.now(UTC).replace(microsecond=0)
    for hours in (3, 2, 1):
        fill(topic, [f"{hours}h".encode()], timestamp=int((now - timedelta(hours=hours)).timestamp() * 1000))
    assert read(topic) == read(topic, start="earliest") == [b"3h", b"2h", b"1h"]
    assert read(topic, start=now - timedelta(hours=2)) == [b"2h", b"1h"]
    assert read(topic, start=(now - timedelta(hours=1)).isoformat()) == [b"1h"]
    assert read(topic, start=now + timedelta(hours=1)) == []
    with Consumer(topic, start="latest", settings=settings) as consumer:
        fill(topic, [b"new"])
        assert next(consumer).value == b"new"


def test_a_group_without_a_place_starts_where_the_fallback_says(create_topic: Any, fill: Any, read: Read) -> None:
    topic = create_topic()
    fill(topic, [b"old"])
    assert read(topic, f"{topic}-a") == [b"old"]
    assert read(topic, f"{topic}-b", fallback="latest") == []


def test_a_start_moves_the_groups_place(create_topic: Any, fill: Any, read: Read) -> None:
    topic = create_topic()
    fill(topic, [b"one", b"two"])
    assert read(topic, topic) == [b"one", b"two"]
    assert read(topic, topic) == []
    assert read(topic, topic, start="earliest") == [b"one", b"two"]
    assert read(topic, f"{topic}-new", start="latest") == []


def test_a_start_is_refused_while_the_group_has_members(create_topic: Any, fill: Any, settings: Settings) -> None:
    topic = create_topic()
    fill(topic, [b"one"])
    with Consumer(topic, topic, settings=settings) as member:
        next(member)
        with pytest.raises(GroupBusy):
            Consumer(topic, topic, start="earliest", settings=settings)


def test_several_topics_and_patterns_are_read(create_topic: Any, fill: Any, read: Read, topic: str) -> None:
    for name in (f"{topic}-a", f"{topic}-b", f"other-{topic}"):
        create_topic(name=name)
        fill(name, [name.encode()])
    both = {f"{topic}-a".encode(), f"{topic}-b".encode()}
    assert set(read([f"{topic}-a", f"{topic}-b"])) == both
    assert set(read(f"^{topic}-.")) == both
    assert set(read(f"^{topic}-.", f"{topic}-group", timeout=5)) == both


def test_a_time_out_ends_the_iteration_and_a_later_one_goes_on(
    create_topic: Any, fill: Any, settings: Settings
) -> None:
    topic = create_topic()
    with Consumer(topic, topic, settings=settings, timeout=2) as consumer:
        assert list(consumer) == []
        fill(topic, [b"late"])
        assert [record.value for record in consumer] == [b"late"]


def test_an_unknown_topic_is_named_and_not_created(topic: str, settings: Settings) -> None:
    for _ in range(2):
        with pytest.raises(TopicNotFound, match=topic):
            Consumer(topic, f"{topic}-group", settings=settings)
    with pytest.raises(TopicNotFound, match=topic):
        Consumer(f"^{topic}", settings=settings)


def test_no_broker_at_the_address_is_told_within_the_time_out(topic: str, settings: Settings) -> None:
    began = time.monotonic()
    with pytest.raises(BrokerUnavailable, match=NOWHERE.replace("localhost", ".*")):
        Consumer(topic, "group", settings=settings.model_copy(update={"bootstrap": NOWHERE, "timeout": 5.0}))
    assert time.monotonic() - began < 6


def test_a_closed_consumer_says_so(create_topic: Any, settings: Settings) -> None:
    consumer = Consumer(create_topic(), settings=settings)
    consumer.close()
    consumer.close()
    assert consumer.assignment == []
    with pytest.raises(UsageError, match="closed"):
        next(consumer)
