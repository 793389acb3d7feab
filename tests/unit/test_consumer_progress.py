from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.kafka.commits import Every, How, commit_policy
from penstock.kafka.offsets import PartitionId
from penstock.kafka.progress import Progress, upto

ORDERS = TopicName("orders")
FIRST, SECOND = PartitionId(ORDERS, Partition(0)), PartitionId(ORDERS, Partition(1))


def record(partition: int, offset: int) -> ConsumerRecord:
    return ConsumerRecord(None, None, (), None, ORDERS, Partition(partition), Offset(offset), has_schema=False)


def test_what_is_given_out_is_uncommitted_only_when_the_caller_came_back() -> None:
    progress = Progress()
    progress.give(upto([record(0, 3), record(1, 8), record(0, 4)]))
    assert progress.uncommitted() == {}
    progress.settle()
    assert progress.uncommitted() == {FIRST: 5, SECOND: 9}


def test_what_the_broker_took_is_not_uncommitted_and_what_it_refused_is() -> None:
    progress = Progress()
    progress.give(upto([record(0, 3)]))
    progress.settle()
    progress.commit({FIRST: Offset(4)})
    assert progress.uncommitted() == {}
    progress.refuse([FIRST])
    assert progress.uncommitted() == {FIRST: 4}


def test_nothing_is_known_of_a_partition_that_was_taken_away_while_its_record_was_in_hand() -> None:
    progress = Progress()
    progress.give(upto([record(0, 3), record(1, 8)]))
    progress.forget([FIRST])
    progress.settle()
    assert progress.uncommitted() == {SECOND: 9}
    assert progress.given(FIRST) is None
    progress.commit({FIRST: Offset(4)})
    progress.refuse([FIRST])
    assert progress.uncommitted() == {SECOND: 9}


def test_a_named_record_is_processed_with_those_before_it_but_never_undone() -> None:
    progress = Progress()
    progress.give(upto([record(0, 5)]))
    assert progress.settle_upto(record(0, 4))
    assert progress.settle_upto(record(0, 2))
    assert progress.uncommitted() == {FIRST: 5}


def test_a_record_that_was_not_given_out_since_the_partition_came_cannot_be_named() -> None:
    progress = Progress()
    assert not progress.settle_upto(record(0, 4))
    progress.give(upto([record(0, 3)]))
    assert not progress.settle_upto(record(0, 4))


def test_all_that_was_given_out_may_be_settled_at_once() -> None:
    progress = Progress()
    progress.give(upto([record(0, 5)]))
    progress.give(upto([record(1, 6)]))
    progress.settle_all()
    assert progress.uncommitted() == {FIRST: 6, SECOND: 7}


@pytest.mark.parametrize(
    ("how", "every", "seconds", "batch_ends", "due"),
    [
        ("sync", "record", 0.0, False, True),
        ("sync", "batch", 100.0, False, False),
        ("sync", "batch", 0.0, True, True),
        ("async", 2.0, 1.9, True, False),
        ("async", 2.0, 2.0, False, True),
        (None, None, 4.9, True, False),
        (None, None, 5.0, False, True),
        ("none", None, 100.0, True, False),
    ],
)
def test_a_commit_is_due_by_record_batch_or_seconds(
    *, how: How | None, every: Every | None, seconds: float, batch_ends: bool, due: bool
) -> None:
    assert commit_policy(how, every, group="g").due(seconds, batch_ends=batch_ends) is due


@pytest.mark.parametrize(
    ("how", "every", "group"),
    [
        ("sync", None, None),
        ("sometimes", None, "g"),
        ("auto", "record", "g"),
        ("none", 5.0, "g"),
        ("sync", 0, "g"),
        ("sync", "minute", "g"),
    ],
)
def test_words_that_do_not_go_together_are_refused(how: How, every: Every | None, group: str | None) -> None:
    with pytest.raises(UsageError, match=r"commit=|every="):
        commit_policy(how, every, group=group)


def test_offsets_that_start_again_are_committed_from_their_new_start() -> None:
    progress = Progress()
    progress.give({FIRST: Offset(104)})
    progress.settle_to({FIRST: Offset(104)})
    progress.commit(progress.uncommitted())
    progress.give({FIRST: Offset(3)})
    progress.settle_to({FIRST: Offset(0)})
    assert progress.uncommitted() == {FIRST: 0}
    progress.commit(progress.uncommitted())
    progress.give({FIRST: Offset(200)})
    progress.settle_to({FIRST: Offset(7)})
    assert progress.uncommitted() == {FIRST: 7}


def test_a_consumer_s_offsets_that_start_again_are_committed_too() -> None:
    progress = Progress()
    progress.give({FIRST: Offset(104)})
    progress.settle()
    progress.commit(progress.uncommitted())
    progress.give({FIRST: Offset(3)})
    assert progress.uncommitted() == {}
    assert progress.settle_upto(record(0, 1))
    assert progress.uncommitted() == {FIRST: 2}
    progress.settle()
    assert progress.uncommitted() == {FIRST: 3}
