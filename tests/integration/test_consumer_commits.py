from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer as BareConsumer
from confluent_kafka import TopicPartition

from penstock import Consumer, ConsumerRecord
from penstock.config import Settings
from penstock.errors import CommitFailed, KafkaRefused, RecordUndecodable, UsageError
from penstock.kafka.options import client_options

UNKNOWN_ID = b"\x00\x7f\x00\x00\x01rest"
NEVER = -1001

Place = Callable[[], int]


@pytest.fixture
def filled(create_topic: Any, fill: Any) -> str:
    """A topic of one partition with ten records, whose name is the group's as well."""
    name: str = create_topic()
    fill(name, [b"%d" % number for number in range(10)])
    return name


@pytest.fixture
def place(settings: Settings, topic: str) -> Place:
    """The offset that the broker has for the group in the topic's first partition."""

    def committed() -> int:
        asking = BareConsumer(client_options(settings, group__id=topic))
        try:
            return asking.committed([TopicPartition(topic, 0)], 10)[0].offset
        finally:
            asking.close()

    return committed


def eventually(expected: int, place: Place) -> bool:
    deadline = time.monotonic() + 5
    while place() != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    return place() == expected


def test_a_record_is_committed_when_the_caller_comes_back_for_the_next(
    filled: str, settings: Settings, place: Place
) -> None:
    with Consumer(filled, filled, commit="sync", every="record", settings=settings) as consumer:
        next(consumer)
        assert place() == NEVER
        next(consumer)
        assert place() == 1
        next(consumer)
        assert place() == 2


def test_a_batch_is_committed_when_the_caller_comes_back_for_the_next(
    filled: str, settings: Settings, place: Place
) -> None:
    with Consumer(filled, filled, commit="sync", settings=settings) as consumer:
        batches = consumer.batches(size=4)
        given = len(next(batches))
        assert place() == NEVER
        next(batches)
        assert place() == given


def test_records_are_committed_without_waiting(filled: str, settings: Settings, place: Place) -> None:
    with Consumer(filled, filled, commit="async", every="record", settings=settings) as consumer:
        next(consumer)
        next(consumer)
        assert eventually(1, place)


def test_records_are_committed_after_so_many_seconds_though_no_more_arrive(
    filled: str, settings: Settings, place: Place
) -> None:
    with Consumer(filled, filled, commit="sync", every=0.3, timeout=2, settings=settings) as consumer:
        assert len(list(consumer)) == 10
        assert place() == 10


def test_records_are_committed_in_the_background_while_the_caller_works(
    filled: str, settings: Settings, place: Place
) -> None:
    patient = {"max.poll.interval.ms": 6000, "session.timeout.ms": 6000}
    with Consumer(filled, filled, commit="auto", every=1.0, settings=settings, options=patient) as consumer:
        next(consumer)
        next(consumer)
        assert eventually(1, place)


def test_nothing_is_committed_by_itself_when_the_caller_wants_to(filled: str, settings: Settings, place: Place) -> None:
    with Consumer(filled, filled, commit="none", timeout=2, settings=settings) as consumer:
        records = list(consumer)
        consumer.commit(records[3])
        assert place() == 4
        consumer.commit(records[1])
        assert place() == 4
    assert place() == 4


def test_closing_commits_what_was_processed_but_not_the_record_at_which_the_loop_broke_off(
    filled: str, settings: Settings, place: Place
) -> None:
    with Consumer(filled, filled, settings=settings) as consumer:
        for record in consumer:
            if record.offset == 4:
                break
    assert place() == 4


def test_commit_without_a_record_commits_all_that_was_given_out(filled: str, settings: Settings, place: Place) -> None:
    with Consumer(filled, filled, settings=settings) as consumer:
        next(consumer)
        next(consumer)
        consumer.commit()
        assert place() == 2


def fail_at(record: ConsumerRecord, offset: int) -> None:
    if record.offset == offset:
        raise ZeroDivisionError


def test_a_record_whose_processing_fails_is_read_again(filled: str, settings: Settings) -> None:
    with pytest.raises(ZeroDivisionError), Consumer(filled, filled, settings=settings) as consumer:
        deque((fail_at(record, 3) for record in consumer), maxlen=0)
    with Consumer(filled, filled, settings=settings) as consumer:
        assert next(consumer).value == b"3"


def test_an_undecodable_record_is_passed_only_when_the_caller_goes_on(
    filled: str, fill: Any, settings: Settings, place: Place
) -> None:
    fill(filled, [UNKNOWN_ID])
    with pytest.raises(RecordUndecodable), Consumer(filled, filled, settings=settings) as consumer:
        list(consumer)
    assert place() == 10
    with Consumer(filled, filled, timeout=2, settings=settings) as consumer:
        with pytest.raises(RecordUndecodable):
            next(consumer)
        assert list(consumer) == []
    assert place() == 11


def test_a_member_that_was_replaced_cannot_commit(filled: str, settings: Settings) -> None:
    first = Consumer(filled, filled, instance_id="one", commit="none", settings=settings)
    record = next(first)
    with Consumer(filled, filled, instance_id="one", commit="none", settings=settings) as second:
        next(second)
        with pytest.raises(CommitFailed, match=f"{filled}/0 at 1") as caught:
            first.commit(record)
        assert "instance_id" in caught.value.hint
        with pytest.raises(KafkaRefused, match="fenced by other consumer"):
            deque(first, maxlen=0)
        with pytest.raises(CommitFailed):
            first.close()


def test_a_consumer_without_a_group_has_nowhere_to_commit_to(filled: str, settings: Settings) -> None:
    with Consumer(filled, settings=settings) as consumer, pytest.raises(UsageError, match="group"):
        consumer.commit(next(consumer))
