from __future__ import annotations

import pytest

from penstock.deadletters.letter import DeadLetter
from penstock.deadletters.replay import Order
from penstock.deadletters.targets import Targets
from penstock.events.record import Offset, Origin, Partition, TopicName

KNOWN = {"paid-orders": {"orders"}}


def letter(box: str, topic: str, pipeline: str) -> DeadLetter:
    place, origin = (Origin(TopicName(name), Partition(0), Offset(1)) for name in (box, topic))
    return DeadLetter(place, origin, pipeline, "record.invalid", "", "", None, b"", ())


@pytest.mark.parametrize(
    ("box", "topic", "pipeline", "allowed"),
    [
        ("paid-orders.dead", "orders", "paid-orders", True),
        ("paid-orders.dead", "payroll", "paid-orders", False),
        ("paid-orders.dead", "orders", "other", False),
        ("events.dead", "events", "anybody", True),
        ("events-dlq", "events", "anybody", True),
        ("events.dead", "event", "anybody", False),
        ("events.dead", "penstock.replays", "anybody", False),
    ],
)
def test_a_letter_goes_to_a_topic_of_its_pipeline_only(box: str, topic: str, pipeline: str, allowed: bool) -> None:
    found = letter(box, topic, pipeline)
    assert Targets(KNOWN).allow(found) is allowed
    assert Targets(KNOWN, named=[topic]).allow(found)
    assert Targets(KNOWN, any_topic=True).allow(found)
    assert Order(lambda: iter(()), Targets(KNOWN), to="elsewhere").allows(found)
