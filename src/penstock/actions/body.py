"""An event's content as plain values, whichever class the event is of."""

from __future__ import annotations

import json
from typing import Any

from penstock.events.envelope import EventEnvelope
from penstock.events.fields import Fields


def body_of(event: EventEnvelope) -> dict[str, Any]:
    """The content to look at, not to change; JSON inside of Avro is still bytes."""
    content: Any = event.event
    if isinstance(content, Fields):
        return content.data
    body: dict[str, Any] = content if isinstance(content, dict) else json.loads(content.as_json())
    return body
