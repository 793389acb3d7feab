"""Conversion of the model to JSON: self-contained, with full names, each type defined at its first use."""

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
    """Return the schema as JSON, without attributes that are irrelevant for reading and writing."""
    return _Emitter().node(root, "")


class _Emitter:
    """Emits types, and tracks the defined names."""

    def __init__(self) -> None:
        self._defined: set[str] = set()

    def node(self, avro_type: Type, namespace: str) -> Json:
        match avro_type:
            case Primitive(name, logical):
                return {"type": name, **_logical(logical)} if logical else name
            case ArrayType(items):
                return {"type": "array", "items": self.node(items, namespace)}
            case MapType(values):
                return {"type": "map", "values": self.node(values, namespace)}
            case UnionType(branches):
                return [self.node(branch, namespace) for branch in branches]
            case _:
                return self._named(avro_type, namespace)

    def _named(self, named: NamedType, namespace: str) -> Json:
        if named.name in self._defined:
            return named.name
        self._defined.add(named.name)
        own = named.name.rpartition(".")[0]
        # A name without a dot would be resolved in the enclosing namespace.
        spelled = {"name": named.name} if own or not namespace else {"name": named.name, "namespace": ""}
        aliases = {"aliases": list(named.aliases)} if named.aliases else {}
        return {**self._own(named, own), **spelled, **aliases}

    def _own(self, named: NamedType, namespace: str) -> dict[str, Json]:
        match named:
            case EnumType(symbols=symbols, default=default):
                own = {"type": "enum", "symbols": list(symbols)}
                return own if default is None else {**own, "default": default}
            case FixedType(size=size, logical=logical):
                return {"type": "fixed", "size": size, **_logical(logical)}
            case RecordType(fields=fields):
                return {"type": "record", "fields": [self._field(field, namespace) for field in fields]}

    def _field(self, field: Field, namespace: str) -> Json:
        node = {"name": field.name, "type": self.node(field.type, namespace)}
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
