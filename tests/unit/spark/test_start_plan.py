from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import DataLost
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.spark.queries.position import Position
from penstock.spark.queries.start_plan import ClusterNow, plan_start

EVENTS = TopicName("events")
FIRST, SECOND = PartitionId(EVENTS, Partition(0)), PartitionId(EVENTS, Partition(1))


def offsets(*numbers: int) -> Offsets:
    return dict(zip((FIRST, SECOND), map(Offset, numbers), strict=False))


def now(first: Offsets, end: Offsets, fresh: Offsets | None = None, topic_id: str = "id") -> ClusterNow:
    return ClusterNow(first, end, fresh or end, {EVENTS: topic_id})


def test_a_first_run_begins_at_the_configured_start() -> None:
    plan = plan_start(None, now(offsets(0, 5), offsets(10, 20), fresh=offsets(10, 20)))
    assert plan.position == Position(offsets(10, 20), {EVENTS: "id"})
    assert not plan.losses


def test_a_later_run_goes_on_where_the_query_was() -> None:
    saved = Position(offsets(3, 7), {EVENTS: "id"})
    assert plan_start(saved, now(offsets(0, 0), offsets(10, 20))).position == saved


def test_a_new_partition_of_a_known_topic_is_read_from_its_first_record() -> None:
    saved = Position(offsets(3), {EVENTS: "id"})
    plan = plan_start(saved, now(offsets(0, 0), offsets(10, 20), fresh=offsets(10, 20)))
    assert plan.position.offsets == offsets(3, 0)


def test_a_new_topic_begins_at_the_configured_start() -> None:
    saved = Position({}, {TopicName("others"): "id"})
    plan = plan_start(saved, now(offsets(0), offsets(10), fresh=offsets(10)))
    assert plan.position.offsets == offsets(10)


def test_a_topic_that_a_pattern_has_found_since_is_read_from_its_first_record() -> None:
    found = replace(now(offsets(2), offsets(10), fresh=offsets(10)), later=offsets(2))
    assert plan_start(Position({}, {TopicName("others"): "id"}), found).position.offsets == offsets(2)
    assert plan_start(None, found).position.offsets == offsets(10)


def test_records_that_retention_removed_are_named() -> None:
    plan = plan_start(Position(offsets(3, 7), {EVENTS: "id"}), now(offsets(5, 0), offsets(10, 20)))
    assert plan.position.offsets == offsets(5, 7)
    assert [str(loss) for loss in plan.losses] == ["events/0: retention removed offsets 3 to 4"]


def test_a_topic_made_anew_is_read_from_its_first_record() -> None:
    plan = plan_start(Position(offsets(3, 7), {EVENTS: "old"}), now(offsets(0, 0), offsets(10, 20)))
    assert plan.position == Position(offsets(0, 0), {EVENTS: "id"})
    assert [loss.why for loss in plan.losses] == ["the topic was deleted and made anew"] * 2


def test_a_log_that_was_cut_back_is_read_from_its_end() -> None:
    plan = plan_start(Position(offsets(30), {EVENTS: "id"}), now(offsets(0), offsets(10)))
    assert plan.position.offsets == offsets(10)
    assert [loss.why for loss in plan.losses] == ["the log ends at 10, but 30 was already reached"]


def test_records_that_have_landed_are_no_loss_when_retention_removes_them() -> None:
    saved, landed = Position(offsets(3, 3), {EVENTS: "id"}), Position(offsets(7, 4), {EVENTS: "id"})
    plan = plan_start(saved, now(offsets(5, 5), offsets(10, 20)), landed)
    assert plan.position.offsets == offsets(5, 5)
    assert [str(loss) for loss in plan.losses] == ["events/1: retention removed offsets 4 to 4"]


def test_what_landed_of_a_log_that_was_cut_back_says_nothing_about_its_new_records() -> None:
    saved, landed = Position(offsets(3, 3), {EVENTS: "id"}), Position(offsets(30, 4), {EVENTS: "id"})
    plan = plan_start(saved, now(offsets(0, 0), offsets(10, 20)), landed)
    assert plan.position.offsets == offsets(3, 3)
    assert plan.landed.offsets == offsets(10, 4)
    assert [str(loss) for loss in plan.losses] == ["events/0: the log ends at 10, but 30 was already reached"]


def test_a_topic_that_the_source_has_again_goes_on_where_the_sink_is() -> None:
    saved, landed = Position({}, {TopicName("others"): "id"}), Position(offsets(7), {EVENTS: "id"})
    assert plan_start(saved, now(offsets(0), offsets(10)), landed).position.offsets == offsets(7)
    anew = plan_start(saved, now(offsets(0), offsets(10), fresh=offsets(0), topic_id="new"), landed)
    assert anew.position.offsets == offsets(0)
    assert not anew.losses


def test_losses_stop_a_query_that_does_not_allow_them() -> None:
    plan = plan_start(Position(offsets(3), {EVENTS: "id"}), now(offsets(5), offsets(10)))
    with pytest.raises(DataLost, match="events/0: retention removed offsets 3 to 4") as raised:
        plan.refuse_losses()
    assert "on_data_loss" in raised.value.hint
