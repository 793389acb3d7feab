"""Origin of an event, for headers sent to other systems."""

from __future__ import annotations

from penstock.events.envelope import EventEnvelope

ORIGIN_HEADER = "penstock.origin"


def origin_of(event: EventEnvelope) -> str | None:
    """Return `<topic>/<partition>/<offset>`, or None for an event that was never in Kafka."""
    if event.record is not None:
        return str(event.record.origin)
    place = event.meta.get("kafka") or {}
    return f"{place['topic']}/{place['partition']}/{place['offset']}" if "offset" in place else None
