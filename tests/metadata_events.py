"""Events of a metadata platform for tests: their Avro schemas, and records of them."""

from __future__ import annotations

import json
from typing import Any

PLATFORM_EVENT = {
    "type": "record",
    "name": "PlatformEvent",
    "namespace": "com.linkedin.pegasus2avro.mxe",
    "fields": [
        {
            "name": "header",
            "type": {
                "type": "record",
                "name": "PlatformEventHeader",
                "fields": [{"name": "timestampMillis", "type": "long"}],
            },
        },
        {"name": "name", "type": "string"},
        {
            "name": "payload",
            "type": {
                "type": "record",
                "name": "GenericPayload",
                "fields": [{"name": "value", "type": "bytes"}, {"name": "contentType", "type": "string"}],
            },
        },
    ],
}

_ASPECT = {
    "type": "record",
    "name": "GenericAspect",
    "fields": [{"name": "value", "type": "bytes"}, {"name": "contentType", "type": "string"}],
}
_CHANGES = ["UPSERT", "CREATE", "UPDATE", "DELETE", "PATCH", "RESTATE", "CREATE_ENTITY"]

CHANGE_LOG = {
    "type": "record",
    "name": "MetadataChangeLog",
    "namespace": "com.linkedin.pegasus2avro.mxe",
    "fields": [
        {"name": "entityType", "type": "string"},
        {"name": "entityUrn", "type": ["null", "string"], "default": None},
        {"name": "changeType", "type": {"type": "enum", "name": "ChangeType", "symbols": _CHANGES}},
        {"name": "aspectName", "type": ["null", "string"], "default": None},
        {"name": "aspect", "type": ["null", _ASPECT], "default": None},
    ],
}


def entity_change(number: int = 0, **fields: Any) -> dict[str, Any]:
    """An EntityChangeEvent as the payload of a PlatformEvent has it."""
    return {
        "entityType": "dataset",
        "entityUrn": f"urn:li:dataset:{number}",
        "category": "TAG",
        "operation": "ADD",
        "modifier": "urn:li:tag:pii",
        "parameters": {"tagUrn": "urn:li:tag:pii"},
        "auditStamp": {"actor": "urn:li:corpuser:jane", "time": 1_700_000_000_000},
        "version": 0,
        **fields,
    }


def platform_event(payload: Any, name: str = "entityChangeEvent") -> dict[str, Any]:
    """A PlatformEvent; a payload that is bytes is taken as it is."""
    value = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return {
        "header": {"timestampMillis": 1},
        "name": name,
        "payload": {"value": value, "contentType": "application/json"},
    }


def change_log(**fields: Any) -> dict[str, Any]:
    """A MetadataChangeLog of a changed status."""
    return {
        "entityType": "dataset",
        "entityUrn": "urn:li:dataset:1",
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"value": b'{"removed":true}', "contentType": "application/json"},
        **fields,
    }
