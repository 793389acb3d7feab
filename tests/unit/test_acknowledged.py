import asyncio

import pytest

from penstock.config import load_settings
from penstock.errors import BufferFull, DeliveryFailed, UsageError
from penstock.kafka.acknowledged import (
    RECORD_OVERHEAD,
    AcknowledgedProducer,
    Batch,
    Delivery,
    Underway,
    _options,
    check_options,
)

AWAY = load_settings(env={}, options={"bootstrap": "127.0.0.1:9"}).settings


def a_delivery(batch: Batch) -> Delivery:
    batch.missing += 1
    return Delivery(100, [batch], Underway(100, records=1))


async def test_a_batch_is_done_when_all_its_records_are_settled() -> None:
    batch = Batch(asyncio.get_running_loop())
    first, second = a_delivery(batch), a_delivery(batch)
    waiting = asyncio.ensure_future(batch.settled())
    await asyncio.sleep(0)
    first.settle()
    await asyncio.sleep(0)
    assert not waiting.done()
    second.fail(DeliveryFailed("no"))
    await waiting
    assert first.error is None
    assert isinstance(second.error, DeliveryFailed)


async def test_who_waits_for_a_batch_can_be_woken_before_it_is_done() -> None:
    batch = Batch(asyncio.get_running_loop())
    delivery = a_delivery(batch)
    asyncio.get_running_loop().call_soon(batch.wake)
    await batch.settled()
    assert not delivery.settled
    assert batch.missing == 1


async def test_several_batches_may_wait_for_one_record() -> None:
    first, second = Batch(asyncio.get_running_loop()), Batch(asyncio.get_running_loop())
    delivery = a_delivery(first)
    delivery.join(second)
    delivery.settle()
    await asyncio.gather(first.settled(), second.settled())


async def test_a_settled_record_is_not_waited_for() -> None:
    first, second = Batch(asyncio.get_running_loop()), Batch(asyncio.get_running_loop())
    delivery = a_delivery(first)
    delivery.settle()
    delivery.join(second)
    await second.settled()


async def test_what_does_not_fit_into_the_bound_is_refused_whole() -> None:
    producer = AcknowledgedProducer(AWAY, max_bytes=10_000, give_up=60)
    record = ("events", b"x" * 1000, b"key", [])
    fitting = 10_000 // (1003 + RECORD_OVERHEAD)
    producer.send([record] * fitting, producer.batch())
    underway = producer.bytes_underway
    with pytest.raises(BufferFull):
        producer.send([record], producer.batch())
    assert producer.bytes_underway == underway <= 10_000
    assert await producer.close(0.1) == fitting


async def test_records_that_are_let_go_in_the_end_are_in_doubt_or_failed_and_take_no_room() -> None:
    producer = AcknowledgedProducer(AWAY, max_bytes=10_000, give_up=60)
    batch = producer.batch()
    (delivery,) = producer.send([("events", b"x", None, [])], batch)
    await producer.close(0.1)
    assert delivery.settled
    assert delivery.error is not None
    assert producer.bytes_underway == 0


async def test_a_record_too_large_for_the_client_fails_by_itself() -> None:
    producer = AcknowledgedProducer(AWAY, max_bytes=10_000_000, give_up=60)
    batch = producer.batch()
    large, small = producer.send([("events", b"x" * 2_000_000, None, []), ("events", b"x", None, [])], batch)
    assert large.error is not None
    assert large.error.code == "record.too_large"
    assert not small.settled
    await producer.close(0.1)


@pytest.mark.parametrize("weaker", [{"acks": "1"}, {"enable.idempotence": False}, {"acks": "0"}])
def test_settings_of_all_clients_cannot_weaken_the_promise(weaker: dict[str, str | bool]) -> None:
    options = _options(load_settings(env={}, options={"kafka": weaker}).settings, 1_000_000, 60)  # type: ignore[dict-item]
    assert options["acks"] == "all"
    assert options["enable.idempotence"] == "true"


def test_a_setting_unknown_to_librdkafka_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no\.such\.thing"):
        check_options(
            load_settings(env={}, options={"kafka": {"no.such.thing": 1}}).settings, max_bytes=9999, give_up=60
        )
