"""Topics with events of a metadata platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock import Producer
from penstock.config import Settings
from tests.metadata_events import PLATFORM_EVENT, entity_change, platform_event

Send = Callable[..., None]


@pytest.fixture
def send_events(settings: Settings, topic: str) -> Send:
    """Send entity changes, numbered by their `version`, to the test's topic; `key` makes a key of the number."""

    def send(numbers: Sequence[int], key: Callable[[int], str] = str, **given: Any) -> None:
        with Producer(topic, PLATFORM_EVENT, settings=settings) as producer:
            for number in numbers:
                event = platform_event(entity_change(number, version=number))
                producer.send(event, key=key(number), **given)

    return send
