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
    type_name,
)

Json = Any


def to_json(root: Type, *, reals_last: bool = False) -> Json:
    """The schema as JSON, without what does not matter for reading and writing.

    With `reals_last`, float and double stand behind the other branches of each union.
    """
    return _Emitter(reals_last).node(root)


class _Emitter:
    """Emits types, and remembers which names it has defined."""

    def __init__(self, reals_last: bool) -> None:
        self._reals_last = reals_last
        self._defined: set[str] = set()

    def node(self, avro_type: Type) -> Json:
        match avro_type:
            case Primitive(name, logical):
                return {"type": name, **_logical(logical)} if logical else name
            case ArrayType(items):
                return {"type": "array", "items": self.node(items)}
            case MapType(values):
                return {"type": "map", "values": self.node(values)}
            case UnionType(branches):
                return [
                    self.node(branch) for branch in (sorted(branches, key=_is_real) if self._reals_last else branches)
                ]
            case _:
                return self._named(avro_type)

    def _named(self, named: NamedType) -> Json:
        if named.name in self._defined:
            return named.name
        self._defined.add(named.name)
        return {**self._own(named), "name": named.name, **({"aliases": list(named.aliases)} if named.aliases else {})}

    def _own(self, named: NamedType) -> dict[str, Json]:
        match named:
            case EnumType(symbols=symbols, default=default):
                own = {"type": "enum", "symbols": list(symbols)}
                return own if default is None else {**own, "default": default}
            case FixedType(size=size, logical=logical):
                return {"type": "fixed", "size": size, **_logical(logical)}
            case RecordType(fields=fields):
                return {"type": "record", "fields": [self._field(field) for field in fields]}

    def _field(self, field: Field) -> Json:
        node = {"name": field.name, "type": self.node(field.type)}
        if field.has_default:
            node["default"] = field.default
        if field.aliases:
            node["aliases"] = list(field.aliases)
        return node


def _is_real(branch: Type) -> bool:
    return type_name(branch) in {"float", "double"}


def _logical(logical: Logical | None) -> dict[str, Json]:
    if logical is None:
        return {}
    decimal = {"precision": logical.precision, "scale": logical.scale} if logical.name == "decimal" else {}
    return {"logicalType": logical.name, **decimal}
