"""Schemas prepared for fastavro: self-contained, parsed, and with converted defaults."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import fastavro

from penstock.schemas.avro.decimals import DECIMAL
from penstock.schemas.avro.defaults import default_value
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import RecordType, Type, every_type


class Prepared(NamedTuple):
    """Arguments of fastavro's functions: the schema and its named types."""

    node: Any
    named: dict[str, Any]


@lru_cache(maxsize=1024)
def prepare(root: Type) -> Prepared:
    """Prepare a schema for fastavro. Cached per schema."""
    named: dict[str, Any] = {}
    node = fastavro.parse_schema(to_json(root), named)
    for avro_type in every_type(root):
        if isinstance(avro_type, RecordType):
            _set_defaults(named[avro_type.name]["fields"], avro_type)
    _use_own_decimals([node, *named.values()])
    return Prepared(node, named)


def _use_own_decimals(nodes: list[Any]) -> None:
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict) and id(node) not in seen:
            seen.add(id(node))
            if node.get("logicalType") == "decimal":
                node["logicalType"] = DECIMAL
            waiting += [node.get("type"), node.get("items"), node.get("values"), *node.get("fields", ())]


def _set_defaults(nodes: list[dict[str, Any]], record: RecordType) -> None:
    # fastavro writes and returns a default as in the schema's JSON: text for bytes, a number for a timestamp.
    for node, field in zip(nodes, record.fields, strict=True):
        if field.has_default:
            node["default"] = default_value(field)
