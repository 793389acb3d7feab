"""What tests of single actions and transformers need: a context that notes acknowledgements, and events."""

from __future__ import annotations

from typing import Any

from penstock.actions.context import PipelineContext
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import event_class

ECE = "EntityChangeEvent_v1"


class NotingSource:
    """An event source that only notes what is acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: list[EventEnvelope] = []

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:
        """Note it."""
        if processed:
            self.acknowledged.append(event)


def context(settings: Settings | None = None) -> PipelineContext:
    """A pipeline called `test` that runs nowhere."""
    return PipelineContext("test", NotingSource(), settings or Settings())


def event(body: dict[str, Any], event_type: str = ECE, offset: int = 7, key: str | None = None) -> EventEnvelope:
    """An event as if it had been read from the topic `t`."""
    meta = {"kafka": {"topic": "t", "partition": 0, "offset": offset, "key": key, "headers": {}, "timestamp": 1}}
    return EventEnvelope(event_type, event_class(event_type)(body), meta)
