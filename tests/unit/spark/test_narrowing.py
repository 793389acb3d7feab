from __future__ import annotations

import pytest

from penstock.errors import TransformFailed, UnknownFailure
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.queries.narrowing import MOST_TRIES, OffsetRange, failing_ranges, ranges_around, ranges_of
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

PLACE = PartitionId(TopicName("events"), Partition(0))


def a_range(start: int, end: int) -> OffsetRange:
    return OffsetRange(PLACE, Offset(start), Offset(end))


def searched(*offsets: int, size: int = 1000) -> tuple[int, list[OffsetRange]]:
    """How many tries it took to search a batch that fails on these offsets, and what was found."""
    tried = []

    def try_range(part: OffsetRange) -> TransformFailed | None:
        tried.append(part)
        return TransformFailed("no") if any(part.start <= offset < part.end for offset in offsets) else None

    found = failing_ranges([a_range(0, size)], try_range)
    return len(tried), sorted(found, key=lambda part: part.start)


def test_each_failing_message_is_found() -> None:
    tries, found = searched(0, 500, 999)
    assert found == [a_range(0, 1), a_range(500, 501), a_range(999, 1000)]
    assert tries < 100


def test_nothing_is_found_where_nothing_fails() -> None:
    assert searched() == (1, [])


@pytest.mark.parametrize("every", [1, 200, 20])
def test_a_search_ends_after_a_bounded_number_of_tries_with_what_fails_and_little_else(every: int) -> None:
    failing = range(0, 20_000, every)
    tries, found = searched(*failing, size=20_000)
    assert tries <= MOST_TRIES + 1
    assert all(any(part.start <= offset < part.end for part in found) for offset in failing)
    assert all(any(part.start <= offset < part.end for offset in failing) for part in found)
    assert max(part.size for part in found) <= 320


def test_messages_that_fail_together_only_stay_together() -> None:
    whole = a_range(0, 8)
    found = failing_ranges([whole], lambda part: TransformFailed("sum too large") if part.size > 2 else None)
    assert sorted(found, key=lambda part: part.start) == [a_range(0, 4), a_range(4, 8)]


@pytest.mark.parametrize("size", [1, 8])
def test_a_message_that_always_fails_for_an_unknown_reason_is_found_alone(size: int) -> None:
    bad = a_range(0, 1)
    found = failing_ranges([a_range(0, size)], lambda part: UnknownFailure("crashed") if part.start == 0 else None)
    assert list(found) == [bad]
    assert (found[bad].message, found[bad].code) == ("crashed", TransformFailed.code)


@pytest.mark.parametrize("passing", range(1, 8))
def test_unknown_failures_that_pass_are_no_fault_of_messages(passing: int) -> None:
    failures = iter([UnknownFailure("executor lost")] * passing)
    assert failing_ranges([a_range(0, 1), a_range(1, 1000)], lambda _: next(failures, None)) == {}


def test_messages_that_fail_together_only_for_an_unknown_reason_are_not_found() -> None:
    assert failing_ranges([a_range(0, 1000)], lambda part: UnknownFailure("lost") if part.size > 1 else None) == {}


def test_one_unknown_failure_of_a_message_is_not_enough() -> None:
    failures = iter([UnknownFailure("executor lost")])
    assert failing_ranges([a_range(0, 1)], lambda _: next(failures, None)) == {}


@pytest.mark.parametrize("size", [2, 20_000])
def test_where_every_try_fails_for_an_unknown_reason_no_message_is_blamed(size: int) -> None:
    assert failing_ranges([a_range(0, size)], lambda _: UnknownFailure("no executor")) == {}


def test_a_search_without_tries_left_blames_no_ranges_for_unknown_failures() -> None:
    def try_range(part: OffsetRange) -> UnknownFailure | None:
        return UnknownFailure("crashed") if part.start < 1000 else None

    found = failing_ranges([a_range(0, 20_000)], try_range, tries=20)
    assert all(part.size == 1 for part in found)


def test_known_failures_stay_in_ranges_beside_unknown_failures() -> None:
    def try_range(part: OffsetRange) -> TransformFailed | UnknownFailure | None:
        if part.start < 8:
            return TransformFailed("sum too large") if part.size > 2 else None
        return UnknownFailure("executor lost") if part.size > 2 else None

    found = failing_ranges([a_range(0, 8), a_range(8, 16)], try_range)
    assert sorted(found, key=lambda part: part.start) == [a_range(0, 4), a_range(4, 8)]


def test_a_range_is_named_by_its_messages() -> None:
    assert (str(a_range(4, 5)), str(a_range(4, 8))) == ("events/0/4", "events/0/4 to 7")


def test_a_batch_holds_the_offsets_between_its_positions() -> None:
    other = PartitionId(TopicName("events"), Partition(1))
    start = Position({PLACE: Offset(3)}, {})
    batch = Batch("q", 1, start, start.advanced({PLACE: Offset(3), other: Offset(2)}, {}))
    assert ranges_of(batch) == [OffsetRange(other, Offset(0), Offset(2))]
    assert batch.size == 2


def test_messages_that_have_landed_are_not_searched() -> None:
    start = Position({PLACE: Offset(0)}, {})
    batch = Batch("q", 1, start, start.advanced({PLACE: Offset(9)}, {}), start.advanced({PLACE: Offset(6)}, {}))
    assert ranges_of(batch) == [a_range(6, 9)]


def test_ranges_around_messages_go_from_the_first_to_the_last_of_each_partition() -> None:
    other = PartitionId(TopicName("events"), Partition(1))
    origins = [Origin(*PLACE, Offset(7)), Origin(*other, Offset(3)), Origin(*PLACE, Offset(4))]
    assert ranges_around(origins) == [a_range(4, 8), OffsetRange(other, Offset(3), Offset(4))]
