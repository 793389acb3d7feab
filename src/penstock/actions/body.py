"""Content of an event as plain values, for every event class."""

from __future__ import annotations

import json
from typing import Any

from penstock.events.envelope import EventEnvelope
from penstock.events.fields import Fields


def body_of(event: EventEnvelope) -> dict[str, Any]:
    """Return the content, for reading only. JSON embedded in Avro is still bytes."""
    content: Any = event.event
    if isinstance(content, Fields):
        return content.data
    body: dict[str, Any] = content if isinstance(content, dict) else json.loads(content.as_json())
    return body
