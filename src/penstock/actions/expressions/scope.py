"""Names available to an expression: the event's fields, and `event`, `event_type` and `meta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.actions.body import body_of
from penstock.events.envelope import EventEnvelope

Scope = Mapping[str, Any]


def scope_of(event: EventEnvelope) -> Scope:
    """Return the fields by name, together with the envelope's own fields."""
    body = body_of(event)
    return {**body, "event": body, "event_type": event.event_type, "meta": event.meta}
