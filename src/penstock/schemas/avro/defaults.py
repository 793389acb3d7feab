"""A field's default: from the JSON in the schema to the value that records have."""

from __future__ import annotations

from typing import Any

from fastavro.read import LOGICAL_READERS

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

_MAX_DEPTH = 50

Json = Any


def default_value(field: Field) -> object:
    """The value of a field that is left out; ValueError says what is wrong with the default."""
    return _value(field.default, field.type, 0)


def _value(node: Json, avro_type: Type, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise ValueError("the default holds itself")
    match avro_type:
        case Primitive(name, logical):
            return _with_logical(_primitive(node, name), name, logical)
        case FixedType() | EnumType():
            return _named(node, avro_type)
        case ArrayType(items):
            return [_value(item, items, depth + 1) for item in _expected(node, list, "an array")]
        case MapType(values):
            return {key: _value(item, values, depth + 1) for key, item in _expected(node, dict, "a map").items()}
        case RecordType(name=name, fields=fields):
            given = _expected(node, dict, name)
            return {field.name: _field(given, field, depth + 1) for field in fields}
        case UnionType(branches):
            return _first_branch(node, branches, depth + 1)


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
    raise ValueError(f"{node!r} is not of type {name}")


def _named(node: Json, avro_type: FixedType | EnumType) -> object:
    match avro_type:
        case EnumType(symbols=symbols) if node in symbols:
            return node
        case FixedType(size=size, logical=logical) if isinstance(node, str) and len(node) == size:
            return _with_logical(_bytes(node), "fixed", logical)
    raise ValueError(f"{node!r} is not of type {avro_type.name}")


def _bytes(node: str) -> bytes:
    try:
        return node.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError(f"{node!r} has characters above U+00FF, which stand for no byte") from None


def _field(given: dict[str, Json], field: Field, depth: int) -> object:
    if field.name not in given and not field.has_default:
        raise ValueError(f"{given!r} lacks {field.name}")
    return _value(given.get(field.name, field.default), field.type, depth)


def _first_branch(node: Json, branches: tuple[Type, ...], depth: int) -> object:
    for branch in branches:
        try:
            return _value(node, branch, depth)
        except ValueError:
            continue
    raise ValueError(f"{node!r} is not of type {' or '.join(map(type_name, branches))}")


def _expected(node: Json, kind: type, name: str) -> Any:  # noqa: ANN401 - as the kind says
    if not isinstance(node, kind):
        raise ValueError(f"{node!r} is not {name}")  # noqa: TRY004 - a wrong value in a file, not a wrong call
    return node


def _with_logical(value: Any, base: str, logical: Logical | None) -> object:  # noqa: ANN401 - as the base says
    if logical is None:
        return value
    decimal = {"precision": logical.precision, "scale": logical.scale}
    try:
        converted: object = LOGICAL_READERS[f"{base}-{logical.name}"](value, decimal, None)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is out of range for a {logical.name}") from None
    return converted
