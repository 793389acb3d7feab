"""From the model back to JSON: one self-contained schema, names in full, each type defined where it first stands."""

from __future__ import annotations

from typing import Any

from penstock.schemas.avro.logical import Logical
from penstock.schemas.avro.model import (
    ArrayType,
    EnumType,
    Field,
    FixedType,
    MapType,
    NamedType,
    Primitive,
    RecordType,
    Type,
    UnionType,
)

Json = Any


def to_json(root: Type) -> Json:
    """The schema as JSON, without the parts that do not matter for reading and writing."""
    return _node(root, set())


def _node(avro_type: Type, defined: set[str]) -> Json:
    match avro_type:
        case Primitive(name, logical):
            return {"type": name, **_logical(logical)} if logical else name
        case ArrayType(items):
            return {"type": "array", "items": _node(items, defined)}
        case MapType(values):
            return {"type": "map", "values": _node(values, defined)}
        case UnionType(branches):
            return [_node(branch, defined) for branch in branches]
        case _:
            return _named_node(avro_type, defined)


def _named_node(named: NamedType, defined: set[str]) -> Json:
    if named.name in defined:
        return named.name
    defined.add(named.name)
    return {**_own(named, defined), "name": named.name, **({"aliases": list(named.aliases)} if named.aliases else {})}


def _own(named: NamedType, defined: set[str]) -> dict[str, Json]:
    match named:
        case EnumType(symbols=symbols, default=default):
            return {"type": "enum", "symbols": list(symbols), **({"default": default} if default is not None else {})}
        case FixedType(size=size, logical=logical):
            return {"type": "fixed", "size": size, **_logical(logical)}
        case RecordType(fields=fields):
            return {"type": "record", "fields": [_field(field, defined) for field in fields]}


def _field(field: Field, defined: set[str]) -> Json:
    node = {"name": field.name, "type": _node(field.type, defined)}
    if field.has_default:
        node["default"] = field.default
    if field.aliases:
        node["aliases"] = list(field.aliases)
    return node


def _logical(logical: Logical | None) -> dict[str, Json]:
    if logical is None:
        return {}
    decimal = {"precision": logical.precision, "scale": logical.scale} if logical.name == "decimal" else {}
    return {"logicalType": logical.name, **decimal}
