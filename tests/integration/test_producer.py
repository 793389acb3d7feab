"""The producer against the real broker and registry; what was sent is read back without this library."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, Message

from penstock import TOMBSTONE, Producer
from penstock.config import Settings
from penstock.errors import (
    BrokerUnavailable,
    PenstockError,
    RecordInvalid,
    RecordTooLarge,
    RegistryUnavailable,
    SchemaNotFound,
    TopicNotFound,
    Undelivered,
)
from penstock.events.record import Receipt
from penstock.kafka.options import client_options
from penstock.schemas import AvroCodec, connect_registry

COUNT = {"type": "record", "name": "Count", "fields": [{"name": "count", "type": "int"}]}
JAVA_MURMUR2 = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
}
"""Hashes of Kafka's own UtilsTest."""

CreateTopic = Callable[..., str]
ReadBack = Callable[[str], list[Message]]


@pytest.fixture
def read_back(settings: Settings) -> ReadBack:
    """Everything in a topic, by a bare consumer."""

    def read(topic: str) -> list[Message]:
        options = {"group.id": f"{topic}-check", "auto.offset.reset": "earliest", "enable.partition.eof": True}
        consumer = Consumer({**client_options(settings), **options})
        consumer.subscribe([topic])
        unread = set(consumer.list_topics(topic).topics[topic].partitions)
        found = []
        while unread:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                unread.discard(message.partition())
            else:
                found.append(message)
        consumer.close()
        return found

    return read


def test_a_key_lands_on_the_partition_where_the_java_client_puts_it(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic(partitions=7)
    with Producer(topic, "int", settings=settings) as producer:
        for number in range(5):
            for key in JAVA_MURMUR2:
                producer.send(number, key=key)
    landed = {(str(message.key(), "utf-8"), message.partition()) for message in read_back(topic)}
    assert landed == {(key, (value & 0x7FFFFFFF) % 7) for key, value in JAVA_MURMUR2.items()}


def test_records_without_a_key_are_spread_evenly_within_a_tenth(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic(partitions=6)
    with Producer(topic, "int", settings=settings) as producer:
        for number in range(12_000):
            producer.send(number)
    counts = Counter(message.partition() for message in read_back(topic))
    assert sum(counts.values()) == 12_000
    assert all(1_800 < counts[partition] < 2_200 for partition in range(6)), counts


def test_a_given_partition_is_obeyed_whatever_the_key(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic(partitions=3)
    with Producer(topic, "int", settings=settings) as producer:
        for number in range(30):
            producer.send(number, key=f"key-{number}", partition=2)
    assert {message.partition() for message in read_back(topic)} == {2}


def test_a_partitioner_of_ones_own_decides(create_topic: CreateTopic, settings: Settings, read_back: ReadBack) -> None:
    topic = create_topic(partitions=4)
    with Producer(topic, "int", settings=settings, partitioner=lambda key, count: len(key or b"") % count) as producer:
        for key in ("a", "bb", "ccc", "dddd", None):
            producer.send(1, key=key)
    landed = {message.key(): message.partition() for message in read_back(topic)}
    assert landed == {b"a": 1, b"bb": 2, b"ccc": 3, b"dddd": 0, None: 0}


def test_without_a_timestamp_the_clients_time_is_used(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic, before = create_topic(), int(time.time() * 1000)
    with Producer(topic, "int", settings=settings) as producer:
        producer.send(1)
    ((kind, moment),) = (message.timestamp() for message in read_back(topic))
    assert kind == TIMESTAMP_CREATE_TIME
    assert before <= moment <= int(time.time() * 1000)


def test_a_topic_may_prefer_the_brokers_time(create_topic: CreateTopic, settings: Settings) -> None:
    topic = create_topic(message_timestamp_type="LogAppendTime")
    with Producer(topic, "int", settings=settings) as producer:
        receipt = producer.send_sync(1, timestamp=1_700_000_000_000)
    assert receipt.timestamp is not None
    assert abs(receipt.timestamp - time.time() * 1000) < 60_000


def test_a_given_timestamp_and_headers_are_kept(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic, moment = create_topic(), datetime(2026, 7, 30, 12, 30, tzinfo=UTC)
    with Producer(topic, "int", settings=settings) as producer:
        producer.send(1, timestamp=moment, headers={"text": "Zürich", "bytes": b"\xff", "none": None})
        producer.send(2, timestamp=1_700_000_000_123, headers=[("a", "1"), ("a", "2")])
    first, second = read_back(topic)
    assert first.timestamp() == (TIMESTAMP_CREATE_TIME, int(moment.timestamp() * 1000))
    assert first.headers() == [("text", "Zürich".encode()), ("bytes", b"\xff"), ("none", None)]
    assert second.timestamp() == (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    assert second.headers() == [("a", b"1"), ("a", b"2")]


def test_a_receipt_tells_where_the_record_stands(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic(partitions=3)
    with Producer(topic, COUNT, settings=settings, linger_ms=0) as producer:
        receipts = [producer.send_sync({"count": number}, key="same") for number in range(3)]
    found = read_back(topic)
    assert [tuple(receipt.origin) for receipt in receipts] == [(m.topic(), m.partition(), m.offset()) for m in found]
    assert [receipt.timestamp for receipt in receipts] == [message.timestamp()[1] for message in found]


async def test_callbacks_and_awaitables_get_receipts(create_topic: CreateTopic, settings: Settings) -> None:
    topic, told, all_told = create_topic(), [], threading.Event()

    def on_delivery(outcome: Receipt | PenstockError) -> None:
        told.append(outcome)
        if len(told) == 100:
            all_told.set()

    with Producer(topic, "int", settings=settings) as producer:
        for number in range(100):
            producer.send_async(number, on_delivery=on_delivery)
        receipts = await asyncio.gather(*(producer.send_awaitable(number) for number in range(100)))
        assert all_told.wait(30)
    assert [outcome.origin.offset for outcome in [*told, *receipts]] == list(range(200))


def test_a_wrong_record_is_refused_by_its_field_and_nothing_is_sent(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic()
    with Producer(topic, COUNT, settings=settings) as producer:
        for wrong in ({"count": "one"}, {}, {"count": 2**40}, {"count": None}, "count"):
            with pytest.raises(RecordInvalid):
                producer.send(wrong)
        with pytest.raises(RecordInvalid, match="count: 'one'"):
            producer.send_sync({"count": "one"})
    assert read_back(topic) == []


def test_what_was_sent_is_read_by_its_schemas_id_and_keys_may_be_avro_too(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic()
    key_schema = {"type": "record", "name": "Id", "fields": [{"name": "id", "type": "long"}]}
    with Producer(topic, COUNT, settings=settings, key_schema=key_schema) as producer:
        producer.send({"count": 1}, key={"id": 7})
        with pytest.raises(RecordInvalid):
            producer.send({"count": 1}, key={"id": "seven"})
    registry = connect_registry(settings)
    (message,) = read_back(topic)
    codec = AvroCodec(registry)
    assert (codec.decode(message.key()), codec.decode(message.value())) == ({"id": 7}, {"count": 1})
    assert registry.by_version(f"{topic}-value", 1).schema.name == "Count"
    assert registry.by_version(f"{topic}-key", "latest").schema.name == "Id"


def test_keys_are_written_in_kafkas_standard_encodings(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack
) -> None:
    topic = create_topic()
    keys: dict[Any, object] = {"int": 5, "long": -5, "double": 0.5, "bytes": b"\x00\xff", "string": "é"}
    for key_type, key in keys.items():
        with Producer(topic, "int", settings=settings, key_type=key_type) as producer:
            producer.send(1, key=key)
    written = [message.key() for message in read_back(topic)]
    assert written == [struct.pack(">i", 5), struct.pack(">q", -5), struct.pack(">d", 0.5), b"\x00\xff", "é".encode()]


def test_a_tombstone_has_a_key_and_no_value(create_topic: CreateTopic, settings: Settings, read_back: ReadBack) -> None:
    topic = create_topic()
    with Producer(topic, COUNT, settings=settings) as producer:
        producer.tombstone("gone")
        producer.send_sync(TOMBSTONE, key="gone too")
    assert [(message.key(), message.value()) for message in read_back(topic)] == [(b"gone", None), (b"gone too", None)]


def test_a_record_larger_than_the_topic_takes_is_told_with_its_size(
    create_topic: CreateTopic, settings: Settings
) -> None:
    topic = create_topic(max_message_bytes="2000")
    with Producer(topic, "bytes", settings=settings, compression="none") as producer:
        producer.send_sync(b"small")
        with pytest.raises(RecordTooLarge, match=r"sending 5,0\d\d bytes to "):
            producer.send_sync(bytes(5000))
    producer = Producer(topic, "bytes", settings=settings, compression="none")
    producer.send(bytes(5000), key="large")
    with pytest.raises(Undelivered, match="1 record was not delivered") as report:
        producer.close()
    (record,) = report.value.records
    assert (record.key, record.value) == ("large", bytes(5000))
    assert isinstance(record.reason, RecordTooLarge)


@pytest.mark.parametrize("acks", [0, 1])
def test_weaker_acknowledgements_work_where_they_are_asked_for(
    create_topic: CreateTopic, settings: Settings, read_back: ReadBack, acks: Any
) -> None:
    topic = create_topic()
    with Producer(topic, "int", settings=settings, acks=acks, idempotent=False) as producer:
        receipt = producer.send_sync(1)
    assert len(read_back(topic)) == 1
    assert receipt.origin.offset == (0 if acks else -1)


def test_a_topic_that_is_not_there_is_named(settings: Settings, topic: str) -> None:
    with pytest.raises(TopicNotFound, match=f"topic {topic} at {settings.bootstrap}"):
        Producer(topic, COUNT, settings=settings, options={"allow.auto.create.topics": False})


def test_a_topic_that_the_broker_creates_by_itself_is_waited_for(settings: Settings, topic: str) -> None:
    with Producer(topic, COUNT, settings=settings) as producer:
        assert producer.send_sync({"count": 1}).origin.topic == topic


def test_a_schema_that_may_only_be_looked_up_must_be_registered(create_topic: CreateTopic, settings: Settings) -> None:
    topic = create_topic()
    with pytest.raises(SchemaNotFound, match=f"{topic}-value"):
        Producer(topic, COUNT, settings=settings, register=False)
    Producer(topic, COUNT, settings=settings).close()
    with Producer(topic, COUNT, settings=settings, register=False) as producer:
        producer.send_sync({"count": 1})
    with Producer(topic, subject=f"{topic}-value", settings=settings) as producer:
        producer.send_sync({"count": 2})


@pytest.mark.parametrize(
    ("shortcut", "error"),
    [
        ({"bootstrap": "localhost:1"}, BrokerUnavailable),
        ({"bootstrap": "nowhere.invalid:9092"}, BrokerUnavailable),
        ({"registry": "http://localhost:1"}, RegistryUnavailable),
    ],
)
def test_a_broker_or_registry_that_is_not_there_is_named_within_the_time_out(
    create_topic: CreateTopic, settings: Settings, shortcut: dict[str, str], error: type[PenstockError]
) -> None:
    topic, impatient = create_topic(), settings.model_copy(update={"timeout": 1.0})
    (address,) = shortcut.values()
    started = time.monotonic()
    with pytest.raises(error, match=address.removeprefix("http://")):
        Producer(topic, COUNT, settings=impatient, **shortcut)
    assert time.monotonic() - started < 4
