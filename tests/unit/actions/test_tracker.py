from __future__ import annotations

import random
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actions.tracker import Tracker
from penstock.events.record import ConsumerRecord, Offset, Origin, Partition, TopicName
from penstock.kafka.offsets import PartitionId

TOPIC = TopicName("t")
HERE = PartitionId(TOPIC, Partition(0))


def record(offset: int, partition: int = 0) -> ConsumerRecord:
    return ConsumerRecord(b"k", b"v", (), 0, TOPIC, Partition(partition), Offset(offset), False)


def work(tracker: Tracker, one: ConsumerRecord, *, done: bool = True) -> None:
    """Receive one record and work on it."""
    window = tracker.receive([one])[0][1]
    assert tracker.begin(window, one)
    tracker.end(window, one, done=done)


@given(st.permutations(range(12)), st.integers(0, 12))
def test_offsets_never_pass_the_first_event_that_is_not_done(order: list[int], finished: int) -> None:
    tracker = Tracker()
    offsets = [10 + 3 * number for number in range(12)]
    records = [record(offset) for offset in offsets]
    window = tracker.receive(records)[0][1]
    done = order[:finished]
    for number in done:
        tracker.finish(window, records[number])
    expected = next((offsets[number] for number in range(12) if number not in done), offsets[-1] + 1)
    assert tracker.offsets() == {HERE: expected}
    assert tracker.held == sum(offset >= expected for offset in offsets)


def test_a_later_acknowledgement_never_covers_an_earlier_event() -> None:
    tracker = Tracker()
    for offset in range(3):
        work(tracker, record(offset), done=False)
    assert tracker.acknowledge(Origin(*HERE, Offset(2)))
    assert tracker.offsets() == {HERE: 0}
    assert tracker.acknowledge(Origin(*HERE, Offset(0)))
    assert tracker.offsets() == {HERE: 1}
    assert tracker.acknowledge(Origin(*HERE, Offset(1)))
    assert tracker.offsets() == {HERE: 3}


def test_a_partition_whose_offsets_start_again_is_followed_from_its_new_start() -> None:
    tracker = Tracker()
    work(tracker, record(100))
    work(tracker, record(101), done=False)
    assert tracker.offsets() == {HERE: 101}
    old, new = record(102), [record(0), record(1), record(101)]
    given = tracker.receive([old, *new])
    assert (tracker.offsets(), tracker.held) == ({HERE: 0}, 3)
    for each, window in given[:2]:
        assert tracker.begin(window, each)
        tracker.end(window, each, done=True)
    assert (tracker.offsets(), tracker.held) == ({HERE: 1}, 2)
    tracker.finish(given[3][1], new[2])
    tracker.finish(given[2][1], new[1])
    assert (tracker.offsets(), tracker.held) == ({HERE: 102}, 0)


def test_an_event_is_not_acknowledged_for_one_that_had_its_offset_before() -> None:
    tracker = Tracker()
    work(tracker, record(0))
    work(tracker, record(1), done=False)
    window = tracker.receive([record(0), record(1)])[0][1]
    assert not tracker.acknowledge(Origin(*HERE, Offset(1)))
    tracker.finish(window, record(0))
    assert tracker.offsets() == {HERE: 1}


def test_an_acknowledgement_counts_once_and_only_for_what_was_read() -> None:
    tracker = Tracker()
    work(tracker, record(5), done=False)
    assert not tracker.acknowledge(Origin(*HERE, Offset(6)))
    assert not tracker.acknowledge(Origin(TopicName("other"), Partition(0), Offset(5)))
    assert tracker.acknowledge(Origin(*HERE, Offset(5)))
    assert not tracker.acknowledge(Origin(*HERE, Offset(5)))
    assert (tracker.held, tracker.offsets()) == (0, {HERE: 6})


def test_an_event_that_is_acknowledged_before_act_returns_false_leaves_nothing_behind() -> None:
    tracker = Tracker()
    records = [record(0), record(1)]
    window = tracker.receive(records)[0][1]
    for each in reversed(records):
        assert tracker.begin(window, each)
        assert tracker.acknowledge(each.origin)
        tracker.end(window, each, done=False)
    assert (tracker.held, tracker.offsets(), window.put_off) == (0, {HERE: 2}, set())


def test_partitions_are_told_apart() -> None:
    tracker = Tracker()
    work(tracker, record(7, partition=1))
    work(tracker, record(3), done=False)
    assert tracker.offsets() == {HERE: 3, PartitionId(TOPIC, Partition(1)): 8}


def test_a_partition_that_goes_waits_for_what_is_in_work_and_begins_nothing_more() -> None:
    tracker = Tracker()
    one, two = record(0), record(1)
    window = tracker.receive([one, two])[0][1]
    assert tracker.begin(window, one)
    closed: list[dict[PartitionId, Offset]] = []
    closing = threading.Thread(target=lambda: closed.append(tracker.close([HERE], 10)))
    closing.start()
    while not window.closed:
        time.sleep(0.001)
    assert not tracker.begin(window, two)
    assert not closed
    tracker.end(window, one, done=True)
    closing.join(5)
    assert closed == [{HERE: 1}]
    assert (tracker.held, tracker.offsets()) == (0, {})


def test_work_that_outlasts_its_partition_does_no_harm_when_the_partition_comes_back() -> None:
    tracker = Tracker()
    late = record(0)
    window = tracker.receive([late])[0][1]
    assert tracker.begin(window, late)
    assert tracker.close([HERE], 0.01) == {HERE: 0}
    again = record(0)
    tracker.receive([again, record(1)])
    tracker.end(window, late, done=True)
    assert tracker.offsets() == {HERE: 0}
    assert tracker.held == 2


def test_nothing_begins_after_a_stop_and_what_is_in_work_is_waited_for() -> None:
    tracker = Tracker()
    one, two = record(0), record(1)
    window = tracker.receive([one, two])[0][1]
    assert tracker.begin(window, one)
    tracker.stop()
    assert not tracker.begin(window, two)
    assert not tracker.wait_idle(0.01)
    (origin, seconds) = tracker.in_work()[0]
    assert (str(origin), seconds < 5) == ("t/0/0", True)
    tracker.end(window, one, done=True)
    assert tracker.wait_idle(0.01)


def test_room_is_waited_for() -> None:
    tracker = Tracker()
    records = [record(offset) for offset in range(3)]
    window = tracker.receive(records)[0][1]
    assert tracker.wait_room(3, 0.01) == 0
    threading.Timer(0.02, tracker.finish, (window, records[0])).start()
    assert tracker.wait_room(3, 5) == 1


@pytest.mark.parametrize("seed", range(3))
def test_many_threads_leave_no_event_behind(seed: int) -> None:
    tracker = Tracker()
    records = [record(offset) for offset in range(400)]
    window = tracker.receive(records)[0][1]
    random.Random(seed).shuffle(records)  # noqa: S311 - no secret

    def finish(share: list[ConsumerRecord]) -> None:
        for one in share:
            assert tracker.begin(window, one)
            tracker.end(window, one, done=True)

    threads = [threading.Thread(target=finish, args=(records[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tracker.held, tracker.offsets()) == (0, {HERE: 400})


def test_what_stands_before_an_event_that_was_begun_may_still_begin_when_its_partition_goes() -> None:
    tracker = Tracker()
    records = [record(offset) for offset in range(5)]
    window = tracker.receive(records)[0][1]
    for number in (0, 3):
        assert tracker.begin(window, records[number])
    tracker.end(window, records[3], done=True)
    closed: list[object] = []
    closing = threading.Thread(target=lambda: closed.append(tracker.close([HERE], 5)))
    closing.start()
    while not window.closed:
        time.sleep(0.001)
    assert not tracker.begin(window, records[4]), "nothing new begins"
    for number in (1, 2):
        assert tracker.begin(window, records[number]), "or 3 would be done again"
        assert not tracker.begin(window, records[number])
        tracker.end(window, records[number], done=True)
    assert not closed
    tracker.end(window, records[0], done=True)
    closing.join(5)
    assert closed == [{HERE: 4}]


def test_events_that_were_put_off_are_not_awaited() -> None:
    tracker = Tracker()
    for offset in range(3):
        work(tracker, record(offset), done=offset == 2)
    tracker.stop()
    assert tracker.wait_idle(0)
    assert tracker.close([HERE], 5) == {HERE: 0}


def test_a_pipeline_that_fails_begins_nothing_more() -> None:
    tracker = Tracker()
    records = [record(0), record(1)]
    window = tracker.receive(records)[0][1]
    assert tracker.begin(window, records[1])
    tracker.stop(at_once=True)
    assert not tracker.begin(window, records[0])
    tracker.end(window, records[1], done=True)
    assert tracker.wait_idle(0)
