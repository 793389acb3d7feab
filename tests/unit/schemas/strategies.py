"""Random Avro schemas, and random records that fit them."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.schemas import Schema
from penstock.schemas.avro.model import (
    INT_RANGE,
    LONG_RANGE,
    ArrayType,
    EnumType,
    FixedType,
    MapType,
    Primitive,
    RecordType,
    Type,
    UnionType,
)

Node = Any

LOGICAL: list[Node] = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
    {"type": "string", "logicalType": "uuid"},
]
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


class _Names:
    """Names that no other type of the same schema has."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"T{self._count}"


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A schema of any shape, a few levels deep, with logical types and recursive records among them."""
    return Schema.from_text(json.dumps(_node(draw, _Names(), depth=draw(st.integers(0, 3)), inside=())))


@st.composite
def record_schemas(draw: st.DrawFn) -> Schema:
    """A schema whose root is a record."""
    return Schema.from_text(json.dumps(_record(draw, _Names(), draw(st.integers(1, 3)), ())))


def _node(draw: st.DrawFn, names: _Names, depth: int, inside: tuple[str, ...]) -> Node:
    if depth == 0:
        return draw(st.sampled_from([*PRIMITIVES, *LOGICAL]))
    kinds = {
        "leaf": lambda: _node(draw, names, 0, inside),
        "enum": lambda: {"type": "enum", "name": names.new(), "symbols": ["A", "B", "C"]},
        "fixed": lambda: {"type": "fixed", "name": names.new(), "size": draw(st.integers(0, 3))},
        "array": lambda: {"type": "array", "items": _node(draw, names, depth - 1, inside)},
        "map": lambda: {"type": "map", "values": _node(draw, names, depth - 1, inside)},
        "record": lambda: _record(draw, names, depth, inside),
        "union": lambda: _union(draw, names, depth, inside),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


def _record(draw: st.DrawFn, names: _Names, depth: int, inside: tuple[str, ...]) -> Node:
    name = names.new()
    count = draw(st.integers(0, 4))
    fields = [{"name": f"f{i}", "type": _node(draw, names, depth - 1, (*inside, name))} for i in range(count)]
    if draw(st.booleans()):
        fields.append({"name": "again", "type": ["null", draw(st.sampled_from((*inside, name)))], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _union(draw: st.DrawFn, names: _Names, depth: int, inside: tuple[str, ...]) -> Node:
    branches: dict[str, Node] = {}
    for _ in range(draw(st.integers(1, 4))):
        node = _node(draw, names, depth - 1, inside)
        if not isinstance(node, list):
            branches.setdefault(_branch_name(node), node)
    return list(branches.values()) or ["null"]


def _branch_name(node: Node) -> str:
    return node if isinstance(node, str) else str(node.get("name", node["type"]))


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Records that fit the schema."""
    return _values(schema.type, 4)


def _values(avro_type: Type, depth: int) -> st.SearchStrategy[Any]:
    few = 3 if depth > 0 else 0
    match avro_type:
        case ArrayType(items):
            return st.lists(st.deferred(lambda: _values(items, depth - 1)), max_size=few)
        case MapType(inner):
            return st.dictionaries(TEXT, st.deferred(lambda: _values(inner, depth - 1)), max_size=few)
        case RecordType(fields=fields):
            return st.fixed_dictionaries({f.name: _values(f.type, depth - 1) for f in fields})
        case UnionType(branches):
            simple = [branch for branch in branches if isinstance(branch, Primitive)]
            chosen = list(branches) if depth > 0 or not simple else simple
            return st.sampled_from(chosen).flatmap(lambda branch: _values(branch, depth - 1))
        case _:
            return _scalar_values(avro_type)


def _scalar_values(avro_type: Primitive | FixedType | EnumType) -> st.SearchStrategy[Any]:
    match avro_type:
        case EnumType(symbols=symbols):
            return st.sampled_from(symbols)
        case Primitive(logical=logical) | FixedType(logical=logical) if logical:
            return LOGICAL_VALUES[logical.name]
        case FixedType(size=size):
            return st.binary(min_size=size, max_size=size)
        case Primitive(name=name):
            return PRIMITIVE_VALUES[name]


TEXT = st.text(st.characters(codec="utf-8"), max_size=10)
AWARE = st.datetimes(timezones=st.just(dt.UTC))
PRIMITIVE_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(INT_RANGE[0], INT_RANGE[-1]),
    "long": st.integers(LONG_RANGE[0], LONG_RANGE[-1]),
    "float": st.floats(width=32),
    "double": st.floats(),
    "bytes": st.binary(max_size=10),
    "string": TEXT,
}


def whole_millis(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


LOGICAL_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "date": st.dates(),
    "time-millis": st.times().map(whole_millis),
    "time-micros": st.times(),
    "timestamp-millis": AWARE.map(whole_millis),
    "timestamp-micros": AWARE,
    "local-timestamp-millis": st.datetimes().map(whole_millis),
    "local-timestamp-micros": st.datetimes(),
    "decimal": st.decimals(Decimal(-999999), Decimal(999999), places=3),
    "uuid": st.uuids(),
}


def same(left: Any, right: Any) -> bool:
    """Equality in which a not-a-number equals itself, at any depth."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


PROMOTED = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
}


@st.composite
def evolved(draw: st.DrawFn, schema: Schema) -> Schema:
    """A later version of a record's schema: some changes are compatible, some are not."""
    node = json.loads(schema.text)
    for _ in range(draw(st.integers(1, 3))):
        change = draw(st.sampled_from([_add_field, _drop_field, _change_type, _make_nullable, _rename, _turn_round]))
        change(draw, node)
    return Schema.from_text(json.dumps(node))


def _add_field(draw: st.DrawFn, node: Node) -> None:
    default = draw(st.sampled_from([{}, {"default": None}]))
    name = draw(st.uuids()).hex
    node["fields"].append({"name": f"new_{name}", "type": ["null", "string"], **default})


def _drop_field(draw: st.DrawFn, node: Node) -> None:
    if node["fields"]:
        del node["fields"][draw(st.integers(0, len(node["fields"]) - 1))]


def _change_type(draw: st.DrawFn, node: Node) -> None:
    for field in node["fields"]:
        known = PROMOTED.get(field["type"], []) if isinstance(field["type"], str) else []
        # Avro reads bytes as a string, but only if they happen to be UTF-8.
        other = [] if "bytes" in json.dumps(field["type"]) else ["string"]
        field["type"] = draw(st.sampled_from([field["type"], *known, *known, *other]))
        field.pop("default", None)


def _make_nullable(draw: st.DrawFn, node: Node) -> None:
    for field in node["fields"]:
        if not isinstance(field["type"], list) and field["type"] != "null" and draw(st.booleans()):
            field["type"] = draw(st.permutations([field["type"], "null"]))
            field.pop("default", None)


def _rename(draw: st.DrawFn, node: Node) -> None:
    old, new = node["name"], f"{node['name']}Again"
    renamed = json.loads(json.dumps(node).replace(f'"{old}"', f'"{new}"'))
    node.update(renamed, **draw(st.sampled_from([{}, {"aliases": [old]}])))


def _turn_round(_draw: st.DrawFn, node: Node) -> None:
    node["fields"].reverse()
