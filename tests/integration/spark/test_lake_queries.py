"""Every event is in the table once, for readers that know nothing of Spark."""

from __future__ import annotations

from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, events


def test_every_event_is_in_the_table_once(lake: Lake, create_topic: CreateTopic, fill: Fill) -> None:
    create_topic(2)
    fill(lake.topic, events(range(10)))
    lake.run()
    assert lake.ids() == list(range(10))
    fill(lake.topic, [*events(range(10, 15)), b"not json"])
    lake.run()
    lake.run()
    assert lake.ids() == list(range(15))
