"""PlatformEvents as DataHub sends them: Avro around JSON."""

from __future__ import annotations

import json
from typing import Any

from penstock import Producer
from penstock.catalog.telling.messages import platform_event_schema
from penstock.config import Settings


def platform_event(number: int, keys: int) -> dict[str, Any]:
    """A tag that was added to one of so many datasets."""
    payload = {
        "entityType": "dataset",
        "entityUrn": urn(number, keys),
        "category": "TAG",
        "operation": "ADD",
        "modifier": f"urn:li:tag:tag-{number % 97}",
        "parameters": {"tagUrn": f"urn:li:tag:tag-{number % 97}"},
        "auditStamp": {"actor": "urn:li:corpuser:jdoe", "time": 1_649_953_100_653 + number},
        "version": 0,
    }
    return {
        "header": {"timestampMillis": 1_649_953_100_653 + number},
        "name": "entityChangeEvent",
        "payload": {"value": json.dumps(payload).encode(), "contentType": "application/json"},
    }


def urn(number: int, keys: int) -> str:
    """The dataset that an event is about, which is its key too."""
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,SampleHiveDataset-{number % keys},PROD)"


def send_platform_events(settings: Settings, topic: str, count: int, keys: int = 1000) -> None:
    """Send so many of them."""
    with Producer(topic, platform_event_schema(), settings=settings) as producer:
        for number in range(count):
            producer.send(platform_event(number, keys), key=urn(number, keys))
