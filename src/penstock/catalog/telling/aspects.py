"""Aspects of a dataset in DataHub's JSON format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.catalog.telling.change import Change, as_urn

Json = dict[str, Any]

_OWNER_TYPES = frozenset(
    {
        *("DEVELOPER", "DATAOWNER", "DELEGATE", "PRODUCER", "CONSUMER", "STAKEHOLDER", "CUSTOM", "NONE"),
        *("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD"),
    }
)

_TYPES = {
    **dict.fromkeys(
        ("int", "long", "float", "double", "integer", "bigint", "smallint", "decimal", "number"), "NumberType"
    ),
    **dict.fromkeys(("boolean", "bool"), "BooleanType"),
    **dict.fromkeys(("bytes", "binary"), "BytesType"),
    **dict.fromkeys(("record", "struct"), "RecordType"),
    **dict.fromkeys(("array", "list"), "ArrayType"),
    "map": "MapType",
    "enum": "EnumType",
    "fixed": "FixedType",
    "union": "UnionType",
    "date": "DateType",
    **dict.fromkeys(("timestamp", "time", "datetime"), "TimeType"),
}


def aspect_json(change: Change, state: Any) -> Json:  # noqa: ANN401 - depends on the aspect
    """Return the JSON of a state of the change's aspect, either `before` or `after`."""
    return _ASPECTS[change.aspect](change, state)


def is_aspect(change: Change) -> bool:
    """Whether the change is about an aspect, not a run or a load."""
    return change.aspect in _ASPECTS


def _key(_: Change, state: Json) -> Json:
    return {**state, "platform": as_urn("platform", state["platform"])}


def _status(_: Change, state: Json) -> Json:
    return state


def _properties(change: Change, state: Json) -> Json:
    custom = {key: value if isinstance(value, str) else str(value) for key, value in state["customProperties"].items()}
    described = {"description": state["description"]} if state["description"] else {}
    return {"name": change.name, **described, "customProperties": custom, "tags": []}


def _schema(change: Change, state: Json) -> Json:
    return {
        "schemaName": change.name,
        "platform": change.platform,
        "version": state["version"],
        "created": change.stamp,
        "lastModified": change.stamp,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [_field(field) for field in state["fields"]],
    }


def _field(field: Json) -> Json:
    described = {"description": field["description"]} if field.get("description") else {}
    kind = _TYPES.get(str(field["type"]).lower().partition("(")[0].partition("<")[0], "StringType")
    return {
        "fieldPath": field["path"],
        "nullable": field["nullable"],
        **described,
        "type": {"type": {f"com.linkedin.schema.{kind}": {}}},
        "nativeDataType": field["type"],
        "recursive": False,
    }


def _ownership(change: Change, state: list[Json]) -> Json:
    return {
        "owners": [
            {"owner": as_urn("owner", item["owner"]), "type": item["type"] if item["type"] in _OWNER_TYPES else "NONE"}
            for item in state
        ],
        "lastModified": change.stamp,
    }


def _tags(_: Change, state: list[str]) -> Json:
    return {"tags": [{"tag": as_urn("tag", tag)} for tag in state]}


def _deprecation(change: Change, state: Json) -> Json:
    return {"deprecated": state["deprecated"], "note": state["note"] or "", "actor": change.stamp["actor"]}


def _lineage(change: Change, state: list[Json]) -> Json:
    return {"upstreams": [{**item, "auditStamp": change.stamp} for item in state]}


_ASPECTS: dict[str, Callable[[Change, Any], Json]] = {
    "datasetKey": _key,
    "status": _status,
    "datasetProperties": _properties,
    "schemaMetadata": _schema,
    "ownership": _ownership,
    "globalTags": _tags,
    "deprecation": _deprecation,
    "upstreamLineage": _lineage,
}
