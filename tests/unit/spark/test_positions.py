"""What a sink stores as its position: it never goes back, whatever batches are repeated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId
from penstock.spark.queries.position import NOWHERE, Position, furthest
from penstock.spark.sinks.sink import Batch

EVENTS, OTHERS = TopicName("events"), TopicName("others")


def at(*offsets: int, topic: TopicName = EVENTS, topic_id: str = "id") -> Position:
    places = (PartitionId(topic, Partition(number)) for number in range(len(offsets)))
    return Position(dict(zip(places, map(Offset, offsets), strict=True)), {topic: topic_id})


def batch(start: Position, end: Position, landed: Position = NOWHERE) -> Batch:
    return Batch("shop.lake", 1, start, end, landed)


def test_a_batch_that_ends_before_what_has_landed_leaves_the_table_where_it_is() -> None:
    assert batch(at(0, 0), at(400, 90), at(2000, 80)).lands_at == at(2000, 90)


def test_a_batch_leaves_out_what_has_landed_whatever_its_size() -> None:
    first, second = at(0, 0).offsets
    for end in (at(400, 90), at(2000, 80), at(9000, 90)):
        assert batch(at(0, 80), end, at(2000, 80)).already_landed == {first: 2000}
    assert batch(at(0, 20), at(400, 90), at(2000, 80)).already_landed == {first: 2000, second: 80}


def test_a_recreated_topic_starts_over() -> None:
    """Its new log may have fewer partitions; the offsets of the old ones say nothing."""
    new = batch(at(0, topic_id="new"), at(400, topic_id="new"), at(2000, 80))
    assert new.lands_at == at(400, topic_id="new")
    assert new.already_landed == {}


def test_the_position_of_a_topic_that_is_not_read_any_more_is_kept() -> None:
    left = batch(at(0), at(400), at(7, topic=OTHERS)).lands_at
    assert left == Position({**at(400).offsets, **at(7, topic=OTHERS).offsets}, {EVENTS: "id", OTHERS: "id"})
    assert batch(at(0, topic=OTHERS), at(9, topic=OTHERS), left).already_landed == at(7, topic=OTHERS).offsets


POSITIONS = st.builds(
    lambda offsets, topic, topic_id: at(*offsets, topic=topic, topic_id=topic_id),
    st.lists(st.integers(0, 9), max_size=3),
    st.sampled_from([EVENTS, OTHERS]),
    st.sampled_from(["id", "new"]),
)


@given(st.lists(POSITIONS, min_size=1, max_size=6))
def test_no_offset_goes_back_unless_its_topic_was_recreated(ends: list[Position]) -> None:
    landed = NOWHERE
    for end in ends:
        after = furthest(landed, end)
        for place, offset in landed.offsets.items():
            if after.topic_ids[place.topic] == landed.topic_ids[place.topic]:
                assert after.offsets[place] >= offset
        for place, offset in end.offsets.items():
            assert after.offsets[place] >= offset
        assert {place.topic for place in after.offsets} <= after.topic_ids.keys()
        landed = after
