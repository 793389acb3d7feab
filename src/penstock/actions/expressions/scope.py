"""The names that an expression can use: the event's fields, and `event`, `event_type` and `meta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.actions.body import body_of
from penstock.events.envelope import EventEnvelope

Scope = Mapping[str, Any]


def scope_of(event: EventEnvelope) -> Scope:
    """The fields by their names, with the envelope's own beside them."""
    body = body_of(event)
    return {**body, "event": body, "event_type": event.event_type, "meta": event.meta}
