from __future__ import annotations

import pytest

from penstock.errors import TransformFailed
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.queries.narrowing import OffsetRange, failing_messages, ranges_around, ranges_of
from penstock.spark.queries.position import Position
from penstock.spark.sinks.sink import Batch

PLACE = PartitionId(TopicName("events"), Partition(0))


def a_range(start: int, end: int) -> OffsetRange:
    return OffsetRange(PLACE, Offset(start), Offset(end))


def failing_on(*offsets: int) -> tuple[list[OffsetRange], dict[Origin, TransformFailed]]:
    """What was tried, and what was found, where the transform fails on these offsets of a thousand."""
    tried = []

    def try_range(part: OffsetRange) -> TransformFailed | None:
        tried.append(part)
        return TransformFailed("no") if any(part.start <= offset < part.end for offset in offsets) else None

    return tried, failing_messages([a_range(0, 1000)], try_range)


def test_each_failing_message_is_found() -> None:
    tried, found = failing_on(0, 500, 999)
    assert [origin.offset for origin in found] == [0, 500, 999]
    assert len(tried) < 100


def test_nothing_is_found_where_nothing_fails() -> None:
    tried, found = failing_on()
    assert (tried, found) == ([a_range(0, 1000)], {})


def test_a_transform_that_always_fails_is_not_searched_for_ever() -> None:
    with pytest.raises(TransformFailed, match="more than 100 messages"):
        failing_on(*range(1000))


def test_a_batch_holds_the_offsets_between_its_positions() -> None:
    other = PartitionId(TopicName("events"), Partition(1))
    start = Position({PLACE: Offset(3)}, {})
    batch = Batch("q", 1, start, start.advanced({PLACE: Offset(3), other: Offset(2)}, {}))
    assert ranges_of(batch) == [OffsetRange(other, Offset(0), Offset(2))]
    assert batch.size == 2


def test_ranges_around_messages_go_from_the_first_to_the_last_of_each_partition() -> None:
    other = PartitionId(TopicName("events"), Partition(1))
    origins = [Origin(*PLACE, Offset(7)), Origin(*other, Offset(3)), Origin(*PLACE, Offset(4))]
    assert ranges_around(origins) == [a_range(4, 8), OffsetRange(other, Offset(3), Offset(4))]
