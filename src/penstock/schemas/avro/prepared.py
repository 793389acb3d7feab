"""A schema as fastavro wants it: self-contained, parsed, and with its defaults as values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import fastavro

from penstock.schemas.avro.defaults import default_value
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import RecordType, Type, every_type


class Prepared(NamedTuple):
    """What fastavro's functions take: the schema, and the named types in it."""

    node: Any
    named: dict[str, Any]


@lru_cache(maxsize=1024)
def prepare(root: Type) -> Prepared:
    """Prepare a schema for fastavro, once for each schema."""
    return prepare_json(to_json(root), root)


def prepare_json(json: Any, root: Type) -> Prepared:  # noqa: ANN401 - JSON
    """Prepare a schema's JSON for fastavro; `root` is the same schema as types."""
    named: dict[str, Any] = {}
    node = fastavro.parse_schema(json, named)
    for avro_type in every_type(root):
        if isinstance(avro_type, RecordType):
            _set_defaults(named[avro_type.name]["fields"], avro_type)
    return Prepared(node, named)


def _set_defaults(nodes: list[dict[str, Any]], record: RecordType) -> None:
    # fastavro writes and returns a default as it stands in the schema: text for bytes, a number for a timestamp.
    for node, field in zip(nodes, record.fields, strict=True):
        if field.has_default:
            node["default"] = default_value(field)
