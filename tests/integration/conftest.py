"""Topics and their contents for tests, made without the code under test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import Producer as BareProducer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.config import Settings
from penstock.kafka.options import client_options

CreateTopic = Callable[..., str]
Fill = Callable[..., None]


@pytest.fixture
def create_topic(settings: Settings, topic: str) -> CreateTopic:
    """Create the test's topic, or another one, with so many partitions."""
    admin = AdminClient(client_options(settings))

    def create(partitions: int = 1, name: str = topic, **config: str) -> str:
        dotted = {key.replace("_", "."): value for key, value in config.items()}
        admin.create_topics([NewTopic(name, partitions, 1, config=dotted)])[name].result(30)
        return name

    return create


@pytest.fixture
def fill(settings: Settings) -> Fill:
    """Send values as they are; further arguments are those of confluent_kafka's `produce`."""
    producer = BareProducer(client_options(settings))

    def send(topic: str, values: Iterable[bytes | None], **given: Any) -> None:
        for value in values:
            producer.produce(topic, value, **given)
        assert producer.flush(30) == 0

    return send
