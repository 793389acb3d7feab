"""Messages of a change: a MetadataChangeLog for an aspect, and a PlatformEvent per EntityChangeEvent."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec

from penstock.catalog.telling.aspects import aspect_json, is_aspect
from penstock.catalog.telling.change import Change
from penstock.catalog.telling.entity_changes import entity_change_events
from penstock.schemas import Schema

CHANGE_LOG_TOPIC: Final = "MetadataChangeLog_Versioned_v1"
PLATFORM_EVENT_TOPIC: Final = "PlatformEvent_v1"

_json = msgspec.json.Encoder().encode

_MAX_PREVIOUS_BYTES = 400_000
"""Maximum size of the previous value. A larger value is omitted, so that the message stays below the broker's limit."""


def change_log_schema() -> Schema:
    """Return the schema of MetadataChangeLog, compatible with DataHub's clients."""
    return _schema("MetadataChangeLog")


def platform_event_schema() -> Schema:
    """Return the schema of PlatformEvent, compatible with DataHub's clients."""
    return _schema("PlatformEvent")


def change_log(change: Change) -> dict[str, Any] | None:
    """Return the MetadataChangeLog of an aspect's change. None if the change is not of an aspect."""
    if not is_aspect(change):
        return None
    return {
        "entityType": change.entity_type,
        "entityUrn": change.urn,
        "changeType": "DELETE" if change.after is None else "UPSERT",
        "aspectName": change.aspect,
        "aspect": _aspect(change, change.after),
        "systemMetadata": {"lastObserved": change.time},
        "previousAspectValue": _fitting(_aspect(change, change.before)),
        "created": change.stamp,
    }


def platform_events(change: Change) -> list[dict[str, Any]]:
    """Return a PlatformEvent for each EntityChangeEvent of the change."""
    return [
        {
            "header": {"timestampMillis": change.time},
            "name": "entityChangeEvent",
            "payload": {"value": _json(event), "contentType": "application/json"},
        }
        for event in entity_change_events(change)
    ]


def _aspect(change: Change, state: Any) -> dict[str, Any] | None:  # noqa: ANN401 - depends on the aspect
    if state is None:
        return None
    return {"value": _json(aspect_json(change, state)), "contentType": "application/json"}


def _fitting(aspect: dict[str, Any] | None) -> dict[str, Any] | None:
    return aspect if aspect and len(aspect["value"]) <= _MAX_PREVIOUS_BYTES else None


def _schema(name: str) -> Schema:
    text = files("penstock.events").joinpath("schemas", f"{name}.avsc").read_text(encoding="utf-8")
    return Schema.from_text(text, source=f"{name}.avsc")
