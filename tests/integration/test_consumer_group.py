from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import Consumer as BareConsumer

from penstock import Consumer
from penstock.config import Settings
from penstock.errors import OperationTimedOut
from penstock.events.record import Origin
from penstock.kafka.options import client_options

IMPATIENT = {"max.poll.interval.ms": 6000, "session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
BY_NEED = {"commit": "sync", "every": 3600.0}


class Member(threading.Thread):
    """A consumer on a thread of its own, which notes what it reads until nothing comes any more."""

    def __init__(self, topic: str, pace: float, **given: Any) -> None:
        super().__init__()
        self.seen: list[Origin] = []
        self.assigned = threading.Event()
        self._topic = topic
        self._pace = pace
        self._given = given

    def run(self) -> None:
        told = {"on_assigned": lambda partitions: partitions and self.assigned.set()}
        with Consumer(self._topic, self._topic, timeout=2, **told | self._given) as consumer:
            for record in consumer:
                self.seen.append(record.origin)
                time.sleep(self._pace)


@pytest.fixture
def shared(create_topic: Any, fill: Any) -> str:
    """A topic of two partitions with 150 records each, whose name is the group's as well."""
    topic: str = create_topic(partitions=2)
    for partition in (0, 1):
        fill(topic, [b"%d" % number for number in range(150)], partition=partition)
    return topic


def everything(topic: str) -> Counter[Origin]:
    return Counter((topic, partition, offset) for partition in (0, 1) for offset in range(150))  # type: ignore[misc]


@pytest.mark.parametrize("assignment", ["eager", "cooperative"])
def test_a_second_member_takes_over_where_the_first_stopped_and_nothing_is_read_twice(
    shared: str, settings: Settings, assignment: str
) -> None:
    given = {"settings": settings, "assignment": assignment, **BY_NEED}
    first, second = Member(shared, 0.01, **given), Member(shared, 0.01, **given)
    first.start()
    assert first.assigned.wait(10)
    time.sleep(0.3)
    second.start()
    first.join()
    second.join()
    assert first.seen
    assert second.seen
    assert Counter(first.seen) + Counter(second.seen) == everything(shared)


def test_cooperative_assignment_takes_away_only_what_moves(shared: str, settings: Settings) -> None:
    revoked: list[list[Any]] = []
    first = Member(shared, 0.01, settings=settings, assignment="cooperative", on_revoked=revoked.append)
    first.start()
    assert first.assigned.wait(10)
    second = Member(shared, 0.01, settings=settings, assignment="cooperative")
    second.start()
    assert second.assigned.wait(10)
    assert [len(partitions) for partitions in revoked] == [1]
    first.join()
    second.join()


def test_a_static_member_restarts_without_a_rebalance(shared: str, settings: Settings) -> None:
    revoked: list[list[Any]] = []
    static = {"instance_id": "one", "settings": settings, "timeout": 3}
    other = Member(shared, 0.03, settings=settings, on_revoked=revoked.append)
    with Consumer(shared, shared, **static) as consumer:
        next(consumer)
        other.start()
        while not other.assigned.is_set():
            next(consumer)
            time.sleep(0.03)
        (before,) = consumer.assignment
    with Consumer(shared, shared, **static) as consumer:
        next(consumer)
        assert consumer.assignment == [before]
        assert revoked == []
    other.join()


def test_a_member_stays_in_the_group_while_it_works_and_shares_its_partitions_meanwhile(
    shared: str, settings: Settings
) -> None:
    lost: list[str] = []
    given = {"settings": settings, "options": IMPATIENT, **BY_NEED}
    with (
        Consumer(shared, shared, timeout=2, on_lost=lambda _: lost.append("slow"), **given) as slow,
        Consumer(shared, f"{shared}-asleep", on_lost=lambda _: lost.append("asleep"), **given) as asleep,
    ):
        asleep._reading._keepalive.stop()
        seen = [next(slow).origin]
        while next(asleep).offset < 100:
            pass
        second, began = Member(shared, 0, **given), time.monotonic()
        second.start()
        assert second.assigned.wait(7), "the group waited for the member at work"
        time.sleep(began + 8 - time.monotonic())
        assert next(asleep).offset == 0, "what the member had is not given out after another may have got it"
        seen += [record.origin for record in slow]
        second.join()
    assert lost == ["asleep"]
    assert set(seen) | set(second.seen) == set(everything(shared))
    assert len(seen) + len(second.seen) <= 301, "only the record at work may be read twice"


@pytest.mark.parametrize("assignment", ["eager", "cooperative"])
def test_a_partition_that_left_while_its_member_was_at_work_is_read_when_it_comes_back(
    shared: str, settings: Settings, assignment: str
) -> None:
    given = {"settings": settings, "options": IMPATIENT, "assignment": assignment}
    with Consumer(shared, shared, timeout=3, **given) as slow:
        seen = {next(slow).origin}
        with Consumer(shared, shared, **given) as guest:
            seen.add(next(guest).origin)
        seen.update(record.origin for record in slow)
    assert seen == set(everything(shared))


@pytest.fixture
def sleeper(shared: str, settings: Settings) -> Iterator[None]:
    """A foreign member that joined the group and polls no more, so that every rebalance waits for it."""
    member = BareConsumer(client_options(settings, group__id=shared, auto__offset__reset="earliest"))
    member.subscribe([shared])
    assert member.consume(1, 10)
    yield
    member.close()


@pytest.mark.usefixtures("sleeper")
def test_a_group_that_cannot_be_joined_is_no_normal_end(shared: str, settings: Settings) -> None:
    hurried = settings.model_copy(update={"timeout": 2.0})
    with (
        Consumer(shared, shared, timeout=0.5, settings=hurried) as consumer,
        pytest.raises(OperationTimedOut) as caught,
    ):
        next(consumer)
    assert "groups show" in caught.value.hint


def test_one_member_too_many_ends_by_its_time_out(create_topic: Any, fill: Any, settings: Settings) -> None:
    topic = create_topic()
    fill(topic, [b"one"])
    hurried = settings.model_copy(update={"timeout": 4.0})
    with Consumer(topic, topic, assignment="cooperative", settings=settings, options=IMPATIENT) as busy:
        assert next(busy).value == b"one"
        with Consumer(topic, topic, assignment="cooperative", timeout=0.5, settings=hurried) as idle:
            assert list(idle) == []
            assert idle.assignment == []
        assert busy.assignment == [(topic, 0)]


def test_the_brokers_own_group_protocol_is_taken_too(shared: str, settings: Settings) -> None:
    given = {"settings": settings, "timeout": 3, "options": {"group.protocol": "consumer"}}
    with Consumer(shared, shared, **given) as consumer:
        assert {record.origin for record in consumer} == set(everything(shared))
    with Consumer(shared, shared, **given) as consumer:
        assert list(consumer) == []


def test_what_a_callback_raises_reaches_the_caller_and_the_iteration_goes_on(shared: str, settings: Settings) -> None:
    def refuse(partitions: list[Any]) -> None:
        raise ZeroDivisionError(len(partitions))

    with Consumer(shared, shared, on_assigned=refuse, settings=settings) as consumer:
        with pytest.raises(ZeroDivisionError, match="2"):
            next(consumer)
        assert next(consumer).offset == 0


def test_closing_from_another_thread_ends_an_iteration_that_waits(create_topic: Any, settings: Settings) -> None:
    topic = create_topic()
    consumer = Consumer(topic, topic, settings=settings)
    threading.Timer(0.5, consumer.close).start()
    assert list(consumer) == []


def test_a_consumer_that_is_dropped_leaves_no_thread_behind(create_topic: Any, settings: Settings) -> None:
    topic, before = create_topic(), threading.active_count()
    consumer = Consumer(topic, topic, settings=settings)
    assert threading.active_count() == before + 1
    del consumer
    gc.collect()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert threading.active_count() == before


def press_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def ctrl_c() -> Iterator[int]:
    """A signal that interrupts like Ctrl-C does."""
    before = signal.signal(signal.SIGUSR1, press_ctrl_c)
    yield signal.SIGUSR1
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("grouped", [True, False])
def test_a_record_that_arrives_with_ctrl_c_is_not_lost_for_who_goes_on(
    create_topic: Any, fill: Any, settings: Settings, ctrl_c: int, *, grouped: bool
) -> None:
    topic, seen, interrupted = create_topic(), [], 0
    sent = [b"%d" % number for number in range(4)]

    def interrupt_and_send(value: bytes) -> None:
        os.kill(os.getpid(), ctrl_c)
        fill(topic, [value])

    with Consumer(topic, topic if grouped else None, timeout=2, settings=settings) as consumer:
        assert list(consumer) == []
        for value in sent:
            sender = threading.Timer(0.15, interrupt_and_send, [value])
            sender.start()
            try:
                seen.append(next(consumer).value)
            except KeyboardInterrupt:
                interrupted += 1
                seen.append(next(consumer).value)
            sender.join()
    assert seen == sent
    assert interrupted
