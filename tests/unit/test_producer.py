"""The producer against librdkafka's own mock broker, which can vanish, and a registry in memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from penstock import TOMBSTONE, Producer
from penstock.config import Settings
from penstock.errors import (
    BrokerUnavailable,
    BufferFull,
    DeliveryFailed,
    OperationTimedOut,
    PenstockError,
    RecordInvalid,
    RecordTooLarge,
    RegistryUnavailable,
    SchemaNotFound,
    Undelivered,
    UsageError,
)
from penstock.events.record import Receipt
from penstock.schemas import MemoryRegistry, Schema

COUNT = {"type": "record", "name": "Count", "fields": [{"name": "count", "type": "int"}]}


class MockBroker:
    """A broker inside librdkafka, which is gone once `vanish` was called."""

    def __init__(self) -> None:
        self._holder: Any = confluent_kafka.Producer(
            {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
        )
        (broker,) = self._holder.list_topics(timeout=5).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def vanish(self) -> None:
        if self._holder is not None:
            self._holder.close()
            self._holder = None


MakeProducer = Callable[..., Producer]


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    mock = MockBroker()
    yield mock
    mock.vanish()


@pytest.fixture
def producer(broker: MockBroker) -> Iterator[MakeProducer]:
    """Makes producers whose records are given up at the end of the test.

    They are not idempotent: librdkafka takes half a second to ask for a producer's id.
    """
    made: list[Producer] = []
    settings = Settings(bootstrap=broker.address, timeout=5)

    def make(schema: Any = COUNT, **options: Any) -> Producer:
        defaults = {"settings": settings, "registry": MemoryRegistry(), "idempotent": False}
        made.append(Producer("numbers", schema, **(defaults | options)))
        return made[-1]

    yield make
    for each in made:
        try:
            each.close(timeout=0)
        except Undelivered:
            continue


def test_a_producer_without_a_schema_is_refused_before_anything_connects() -> None:
    with pytest.raises(UsageError, match="needs a schema") as refused:
        Producer("numbers", bootstrap="nowhere.invalid:9092")
    assert "serializer of your own" in refused.value.hint


def test_a_schema_and_a_serializer_together_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        Producer("numbers", COUNT, serializer=bytes)


def test_conflicting_options_are_refused_before_anything_connects() -> None:
    with pytest.raises(UsageError, match="acks=1 conflicts with idempotent=True"):
        Producer("numbers", COUNT, acks=1, bootstrap="nowhere.invalid:9092", registry="http://nowhere.invalid")


def test_a_broker_that_is_not_there_is_named_within_the_time_out(broker: MockBroker) -> None:
    broker.vanish()
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable, match=f"Kafka at {broker.address}: .*refused"):
        Producer("numbers", COUNT, settings=Settings(bootstrap=broker.address, timeout=1), registry=MemoryRegistry())
    assert time.monotonic() - started < 3


def test_a_registry_that_is_not_there_is_named(broker: MockBroker) -> None:
    settings = Settings(bootstrap=broker.address, registry="http://127.0.0.1:9", timeout=1)
    with pytest.raises(RegistryUnavailable, match=r"127\.0\.0\.1:9"):
        Producer("numbers", COUNT, settings=settings)


def test_sending_synchronously_returns_the_records_place(producer: MakeProducer) -> None:
    receipt = producer().send_sync({"count": 1}, partition=2)
    assert (receipt.origin.topic, receipt.origin.partition, receipt.origin.offset) == ("numbers", 2, 0)


def test_a_callback_gets_the_receipt_on_another_thread(producer: MakeProducer) -> None:
    told: list[tuple[object, str]] = []
    done = threading.Event()

    def on_delivery(outcome: Receipt | PenstockError) -> None:
        told.append((outcome, threading.current_thread().name))
        done.set()

    producer().send_async({"count": 1}, on_delivery=on_delivery)
    assert done.wait(5)
    outcome, thread = told[0]
    assert isinstance(outcome, Receipt)
    assert thread == "penstock-deliveries-numbers"


def test_a_callback_that_raises_is_logged_and_the_others_are_still_called(
    producer: MakeProducer, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[object] = []

    def broken(_outcome: object) -> None:
        raise ZeroDivisionError

    with producer() as sending:
        sending.send_async({"count": 1}, on_delivery=broken)
        sending.send_async({"count": 2}, on_delivery=told.append)
    assert len(told) == 1
    assert "a delivery callback failed" in caplog.text


async def test_many_records_can_be_awaited_together(producer: MakeProducer) -> None:
    sending = producer()
    receipts = await asyncio.gather(*(sending.send_awaitable({"count": n}, partition=0) for n in range(100)))
    assert [receipt.origin.offset for receipt in receipts] == list(range(100))


async def test_awaiting_a_record_that_fails_raises_its_error(producer: MakeProducer, broker: MockBroker) -> None:
    sending = producer(delivery_timeout=0.2)
    broker.vanish()
    with pytest.raises(DeliveryFailed, match="did not confirm it in time"):
        await sending.send_awaitable({"count": 1})


async def test_an_awaitable_that_was_cancelled_is_left_alone(producer: MakeProducer) -> None:
    with producer() as sending:
        sending.send_awaitable({"count": 1}).cancel()
        assert isinstance(await sending.send_awaitable({"count": 2}), Receipt)


def test_a_record_that_does_not_fit_is_refused_and_nothing_is_sent(producer: MakeProducer) -> None:
    sending = producer()
    for send in (sending.send, sending.send_sync):
        with pytest.raises(RecordInvalid, match="count"):
            send({"count": "one"})
    assert sending.send_sync({"count": 1}, partition=0).origin.offset == 0


def test_a_null_is_refused_unless_the_schema_allows_it(producer: MakeProducer) -> None:
    with pytest.raises(RecordInvalid):
        producer().send(None)
    producer(["null", "string"]).send_sync(None)


def test_a_tombstone_needs_a_key(producer: MakeProducer) -> None:
    with pytest.raises(UsageError, match="needs the key"):
        producer().tombstone(None)


def test_a_full_buffer_waits_for_room_and_then_fails(producer: MakeProducer, broker: MockBroker) -> None:
    sending = producer(buffer_messages=10, buffer_timeout=0.3)
    broker.vanish()
    for number in range(10):
        sending.send({"count": number})
    started = time.monotonic()
    with pytest.raises(BufferFull, match=r"stayed full for 0\.3 s, with 10 records waiting"):
        sending.send({"count": 10})
    assert 0.3 <= time.monotonic() - started < 1
    with pytest.raises(Undelivered) as report:
        sending.close(timeout=0)
    assert sorted(record.value["count"] for record in report.value.records) == list(range(10))


def test_a_buffer_that_empties_in_time_takes_the_record(producer: MakeProducer) -> None:
    with producer(buffer_messages=10, linger_ms=50) as sending:
        for number in range(100):
            sending.send({"count": number}, partition=0)
        assert sending.send_sync({"count": 100}, partition=0).origin.offset == 100


def test_closing_reports_what_was_not_delivered_so_that_it_can_be_sent_again(
    producer: MakeProducer, broker: MockBroker, caplog: pytest.LogCaptureFixture
) -> None:
    sending = producer()
    broker.vanish()
    sending.send({"count": 1}, key="one", timestamp=1_700_000_000_000, headers={"origin": "test"})
    sending.send({"count": 2}, partition=3)
    sending.tombstone("gone")
    with pytest.raises(Undelivered, match=r"3 records were not delivered; sending .* to numbers: ") as report:
        sending.close(timeout=0.1)
    by_key = {record.key: record for record in report.value.records}
    one, unkeyed = by_key["one"], by_key[None]
    assert (one.value, one.timestamp, one.headers) == ({"count": 1}, 1_700_000_000_000, [("origin", b"test")])
    assert (unkeyed.value, unkeyed.partition) == ({"count": 2}, 3)
    assert by_key["gone"].value is TOMBSTONE
    assert isinstance(one.reason, DeliveryFailed)
    assert report.value.count == 3
    assert sending.undelivered == report.value.records
    assert caplog.text.count("records are not delivered") == 1


def test_flushing_reports_failures_once_and_leaves_the_rest_to_later(
    producer: MakeProducer, broker: MockBroker
) -> None:
    sending = producer(delivery_timeout=0.3)
    broker.vanish()
    sending.send({"count": 1})
    with pytest.raises(OperationTimedOut, match="1 records for numbers are not confirmed after 0 s"):
        sending.flush(0)
    with pytest.raises(Undelivered, match="1 record was not delivered"):
        sending.flush(5)
    sending.flush(0)
    sending.close()


def test_what_a_callback_was_told_is_not_reported_again(producer: MakeProducer, broker: MockBroker) -> None:
    told: list[Receipt | PenstockError] = []
    sending = producer()
    broker.vanish()
    sending.send_async({"count": 1}, on_delivery=told.append, headers={"a": b"1"})
    sending.close(timeout=0)
    (error,) = told
    assert isinstance(error, DeliveryFailed)
    record = error.details["record"]
    assert (record.value, record.headers) == ({"count": 1}, [("a", b"1")])


def test_a_synchronous_send_that_fails_raises(producer: MakeProducer, broker: MockBroker) -> None:
    sending = producer(delivery_timeout=0.2)
    broker.vanish()
    with pytest.raises(DeliveryFailed, match="sending 6 bytes to numbers: the broker did not confirm it in time"):
        sending.send_sync({"count": 1})
    sending.flush()


def test_an_error_in_the_block_still_flushes_and_goes_on(producer: MakeProducer) -> None:
    told: list[object] = []

    def send_and_fail() -> None:
        with producer() as sending:
            sending.send_async({"count": 1}, on_delivery=told.append)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        send_and_fail()
    assert isinstance(told[0], Receipt)


def test_an_error_in_the_block_has_a_note_of_what_was_not_delivered(producer: MakeProducer, broker: MockBroker) -> None:
    sending = producer(delivery_timeout=0.1)

    def send_and_fail() -> None:
        with sending:
            broker.vanish()
            sending.send({"count": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        send_and_fail()
    assert "1 record was not delivered" in raised.value.__notes__[0]
    assert sending.undelivered[0].value == {"count": 1}


def test_closing_twice_is_fine_and_sending_afterwards_is_refused(producer: MakeProducer) -> None:
    sending = producer()
    sending.close()
    sending.close()
    sending.flush()
    with pytest.raises(UsageError, match="the producer for numbers is closed"):
        sending.send({"count": 1})


def test_a_record_larger_than_the_client_takes_is_refused_with_its_size(producer: MakeProducer) -> None:
    with pytest.raises(RecordTooLarge, match="sending 2,000,009 bytes to numbers"):
        producer("string").send("x" * 2_000_000)


def test_a_partition_that_the_topic_does_not_have_is_refused(producer: MakeProducer) -> None:
    sending = producer()
    for partition in (99, -1):
        with pytest.raises(UsageError, match="partition"):
            sending.send({"count": 1}, partition=partition)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"timestamp": 0}, "timestamp: 0 is not"),
        ({"timestamp": "noon"}, "timestamp: 'noon' is not"),
        ({"headers": {"a": 5}}, "header 'a': 5 is not"),
        ({"headers": [(5, b"")]}, "header 5: b'' is not"),
        ({"headers": {"a": "\ud800"}}, "header 'a': .* is not"),
        ({"key": 5}, "key: 5 is not string"),
    ],
)
def test_a_wrong_key_timestamp_or_header_is_refused(producer: MakeProducer, given: Any, message: str) -> None:
    with pytest.raises(RecordInvalid, match=message):
        producer().send({"count": 1}, **given)


def test_a_schema_that_may_only_be_looked_up_must_be_registered(producer: MakeProducer) -> None:
    registry = MemoryRegistry()
    with pytest.raises(SchemaNotFound, match="numbers-value"):
        producer(registry=registry, register=False)
    producer(registry=registry)
    producer(registry=registry, register=False).send_sync({"count": 1})


def test_values_may_follow_a_registered_subject_and_version(producer: MakeProducer) -> None:
    registry = MemoryRegistry()
    registry.register("counts", Schema.from_text('"string"'))
    registry.register("counts", Schema.from_text('"long"'))
    producer(None, subject="counts", registry=registry).send_sync(7)
    producer(None, subject="counts", version=1, registry=registry).send_sync("seven")
    with pytest.raises(SchemaNotFound):
        producer(None, subject="counts", version=3, registry=registry)


def test_a_serializer_of_ones_own_must_return_bytes(producer: MakeProducer, broker: MockBroker) -> None:
    sending = producer(None, serializer=lambda value: value)
    sending.send_sync(b"raw")
    with pytest.raises(RecordInvalid, match="the serializer returned int, not bytes"):
        sending.send(5)
    broker.vanish()
    sending.send(b"lost")
    with pytest.raises(Undelivered) as report:
        sending.close(timeout=0)
    assert report.value.records[0].value == b"lost"


def test_threads_may_share_a_producer(producer: MakeProducer) -> None:
    told: list[object] = []

    def send_many() -> None:
        for number in range(500):
            sending.send_async({"count": number}, on_delivery=told.append)

    with producer(buffer_messages=100) as sending:
        threads = [threading.Thread(target=send_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(isinstance(outcome, Receipt) for outcome in told) == 2000
