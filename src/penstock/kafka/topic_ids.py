"""Ids of topics: a recreated topic has the old name but a new id."""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from penstock.events.record import TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.errors import Right


def topic_ids(admin: Admin, topics: Collection[TopicName]) -> dict[TopicName, str]:
    """Return the id of each topic. All topics must exist."""
    if not topics:
        return {}
    names = sorted(topics)
    needs = [Right("DESCRIBE", "topic", name) for name in names]
    tried = f"describing topic {', '.join(repr(name) for name in names)}"
    found = admin.ask(AdminClient.describe_topics, TopicCollection(list[str](names)), tried=tried, needs=needs)
    return {TopicName(name): str(topic.topic_id) for name, topic in found.items()}
