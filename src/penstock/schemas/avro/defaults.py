"""Conversion of a field's default from the schema's JSON to a value of records."""

from __future__ import annotations

from typing import Any

from fastavro.read import LOGICAL_READERS

from penstock.schemas.avro import decimals
from penstock.schemas.avro.logical import Logical
from penstock.schemas.avro.model import (
    INT_RANGE,
    LONG_RANGE,
    ArrayType,
    EnumType,
    Field,
    FixedType,
    MapType,
    Primitive,
    RecordType,
    Type,
    UnionType,
    type_name,
)
from penstock.schemas.avro.words import shown

_MAX_DEPTH = 50
_MAX_VALUES = 100_000

Json = Any


class Allowance:
    """Limit of the values in a schema's defaults. Nested records with defaults multiply."""

    def __init__(self, values: int = _MAX_VALUES) -> None:
        self._left = values

    def take(self) -> None:
        """Count one value. Raise ValueError once there are too many."""
        self._left -= 1
        if self._left < 0:
            raise ValueError("the default holds too many values once the defaults inside it are filled in")


def default_value(field: Field, allowance: Allowance | None = None) -> object:
    """Return the value of a missing field. Raise ValueError with the problem of the default."""
    return _value(field.default, field.type, 0, allowance or Allowance())


def _value(node: Json, avro_type: Type, depth: int, allowance: Allowance) -> object:
    if depth > _MAX_DEPTH:
        raise ValueError("the default holds itself")
    allowance.take()
    match avro_type:
        case Primitive(name, logical):
            return _with_logical(_primitive(node, name), name, logical)
        case FixedType() | EnumType():
            return _named(node, avro_type)
        case ArrayType(items):
            return [_value(item, items, depth + 1, allowance) for item in _expected(node, list, "an array")]
        case MapType(values):
            entries = _expected(node, dict, "a map").items()
            return {key: _value(item, values, depth + 1, allowance) for key, item in entries}
        case RecordType(name=name, fields=fields):
            given = _expected(node, dict, name)
            return {field.name: _field(given, field, depth + 1, allowance) for field in fields}
        case UnionType(branches):
            return _first_branch(node, branches, depth + 1, allowance)


def _primitive(node: Json, name: str) -> object:
    match name, node:
        case ("null", None) | ("boolean", bool()) | ("string", str()):
            return node
        case "bytes", str():
            return _bytes(node)
        case _, bool():
            pass
        case "int", int() if node in INT_RANGE:
            return node
        case "long", int() if node in LONG_RANGE:
            return node
        case "float" | "double", int() | float():
            return float(node)
    raise ValueError(f"{shown(node)} is not of type {name}")


def _named(node: Json, avro_type: FixedType | EnumType) -> object:
    match avro_type:
        case EnumType(symbols=symbols) if node in symbols:
            return node
        case FixedType(size=size, logical=logical) if isinstance(node, str) and len(node) == size:
            return _with_logical(_bytes(node), "fixed", logical)
    raise ValueError(f"{shown(node)} is not of type {avro_type.name}")


def _bytes(node: str) -> bytes:
    try:
        return node.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError(f"{shown(node)} has characters above U+00FF, which stand for no byte") from None


def _field(given: dict[str, Json], field: Field, depth: int, allowance: Allowance) -> object:
    if field.name not in given and not field.has_default:
        raise ValueError(f"{shown(given)} lacks {field.name}")
    return _value(given.get(field.name, field.default), field.type, depth, allowance)


def _first_branch(node: Json, branches: tuple[Type, ...], depth: int, allowance: Allowance) -> object:
    for branch in branches:
        try:
            return _value(node, branch, depth, allowance)
        except ValueError:
            continue
    raise ValueError(f"{shown(node)} is not of type {' or '.join(map(type_name, branches))}")


def _expected(node: Json, kind: type, name: str) -> Any:  # noqa: ANN401 - depends on `kind`
    if not isinstance(node, kind):
        raise ValueError(f"{shown(node)} is not {name}")  # noqa: TRY004 - a wrong value in a file, not a wrong call
    return node


def _with_logical(value: Any, base: str, logical: Logical | None) -> object:  # noqa: ANN401 - depends on `base`
    if logical is None:
        return value
    if logical.name == "decimal":
        return decimals.from_bytes(value, logical)
    try:
        converted: object = LOGICAL_READERS[f"{base}-{logical.name}"](value, {}, None)
    except (ValueError, OverflowError):
        raise ValueError(f"{shown(value)} is out of range for a {logical.name}") from None
    return converted
