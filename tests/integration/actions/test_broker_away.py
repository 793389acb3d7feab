"""A broker that goes away while a pipeline waits for events, and comes back."""

from __future__ import annotations

import json

import pytest

from penstock import Producer
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope
from penstock.kafka.topics import ensure_topic
from penstock.local.stack import Stack
from tests.running_pipeline import RunningPipeline


@pytest.mark.timeout(300)
def test_health_tells_of_a_broker_that_is_away_until_it_is_back(stack_settings: Settings, topic: str) -> None:
    seen: list[EventEnvelope] = []
    with Stack(settings=stack_settings) as stack:
        settings = stack.settings()
        ensure_topic(settings, topic, partitions=1)
        source = {"topic_routes": {"thing": topic}}
        with RunningPipeline(topic, settings, seen.append, source=source) as running:
            running.until(lambda: running.thread.vitals()[0].lag)
            assert running.thread.vitals()[0].trouble is None
            stack.kill("kafka")
            running.until(lambda: running.thread.vitals()[0].trouble == "stuck: no broker answers", 60)
            stack.restart("kafka")
            running.until(lambda: running.thread.vitals()[0].trouble is None, 60)
            with Producer(topic, serializer=str.encode, settings=settings) as producer:
                producer.send(json.dumps({"n": 1}))
            running.until(lambda: seen, 60)
