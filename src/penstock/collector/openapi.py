"""OpenAPI document: `openapi.yaml`, completed with the topics and events of this collector."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from penstock.collector.config import CollectorSettings
from penstock.collector.shape import ID_FIELD, EventShape
from penstock.collector.topics import Topic

Json = dict[str, Any]

_EXAMPLES = {
    "Event_Type": "ListingView",
    "Event_Version": "1",
    "User_ID": "u-1001",
    "Listing_ID": "l-2002",
    "Device_Type": "ios",
}
_EXAMPLES_BY_TYPE: Json = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}


def describe(settings: CollectorSettings, topics: dict[str, Topic]) -> Json:
    """Return the OpenAPI document of a collector with these settings and topics."""
    document: Json = yaml.safe_load(files(__package__).joinpath("openapi.yaml").read_text(encoding="utf-8"))
    schemas = {name: _event_schema(topic.shape) for name, topic in topics.items()}
    document["components"]["schemas"] |= {
        "Event": schemas[settings.topic],
        "EventOfAnyTopic": {"anyOf": list(schemas.values())},
    }
    for path in ("/events", "/topics/{topic}"):
        example = _example_event(schemas[settings.topic], topics[settings.topic].shape)
        _add_examples(document["paths"][path]["post"]["requestBody"]["content"], example)
    document["paths"]["/topics/{topic}"]["post"]["parameters"][0]["schema"]["examples"] = list(topics)
    if settings.keys:
        document["security"] = [{"bearer": []}, {"apiKey": []}]
    return document


def _event_schema(shape: EventShape) -> Json:
    _, components = msgspec.json.schema_components([shape.struct])
    schema: Json = components[shape.struct.__name__]
    return schema


def _example_event(schema: Json, shape: EventShape) -> Json:
    """Return an example event as sent by a client: without an id and without the server's time field."""
    fields = schema["properties"].items()
    return {name: _example(name, field) for name, field in fields if name not in {ID_FIELD, shape.time_field}}


def _add_examples(content: Json, event: Json) -> None:
    with_id = {**event, ID_FIELD: "0b9f3c4e-6a55-4c5b-9f6e-2f3f4f2f9d10"}
    content["application/json"]["examples"] = {
        "one": {"summary": "One event", "value": event},
        "with its own id": {"summary": "One event with its own id", "value": with_id},
        "batch": {"summary": "Two events", "value": [event, with_id]},
    }
    lines = "".join(json.dumps(each) + "\n" for each in (event, with_id))
    # An extension, because tools that send the examples expect JSON and fail on JSON lines.
    content["application/x-ndjson"]["x-examples"] = {"lines": {"summary": "Two events", "value": lines}}


def _example(name: str, field: Json) -> object:
    """Return a realistic value for a field of the product's own events, or a plain value for other fields."""
    kinds = [field.get("type"), *(choice.get("type") for choice in field.get("anyOf", []))]
    known = field.get("enum", [_EXAMPLES.get(name)])[0] or field.get("default")
    return (
        known
        if known is not None
        else next((_EXAMPLES_BY_TYPE[kind] for kind in kinds if kind in _EXAMPLES_BY_TYPE), None)
    )
