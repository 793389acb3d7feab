"""An Avro schema as a graph of small objects; a recursive type holds itself.

Objects are compared by identity: two types that look alike at different places are different types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from penstock.schemas.avro.logical import Logical


class Missing(Enum):
    """The default of a field that has none (`None` is a default like any other)."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
INT_RANGE: Final = range(-(1 << 31), 1 << 31)
LONG_RANGE: Final = range(-(1 << 63), 1 << 63)
FLOAT_MAX: Final = 3.4028234663852886e38


@dataclass(frozen=True, eq=False)
class Primitive:
    """One of Avro's eight primitive types."""

    name: str
    logical: Logical | None = None


@dataclass(frozen=True, eq=False)
class FixedType:
    """A given number of bytes, under a name."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None


@dataclass(frozen=True, eq=False)
class EnumType:
    """One of a list of symbols, under a name; a reader takes `default` for symbols it does not know."""

    name: str
    symbols: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True, eq=False)
class ArrayType:
    """Many values of one type."""

    items: Type


@dataclass(frozen=True, eq=False)
class MapType:
    """Values of one type by string keys."""

    values: Type


@dataclass(frozen=True, eq=False)
class UnionType:
    """A value of one of several types."""

    branches: tuple[Type, ...]


@dataclass(frozen=True, eq=False)
class Field:
    """A field of a record; `default` is as the schema's JSON has it."""

    name: str
    type: Type
    default: object = MISSING
    aliases: tuple[str, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether the field may be left out."""
        return self.default is not MISSING


@dataclass(frozen=True, eq=False)
class RecordType:
    """Named fields in an order; they are added while the record is parsed, since they may hold the record itself."""

    name: str
    aliases: tuple[str, ...] = ()
    fields: list[Field] = field(default_factory=list, repr=False)


NamedType = RecordType | EnumType | FixedType
Type = Primitive | NamedType | ArrayType | MapType | UnionType


def type_name(avro_type: Type) -> str:
    """What a type is called in messages and union hints: `string`, `array`, or its full name."""
    match avro_type:
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case UnionType():
            return "union"
        case _:
            return avro_type.name


def children(avro_type: Type) -> Iterator[Type]:
    """The types directly inside a type."""
    match avro_type:
        case RecordType():
            yield from (item.type for item in avro_type.fields)
        case UnionType():
            yield from avro_type.branches
        case ArrayType():
            yield avro_type.items
        case MapType():
            yield avro_type.values


def is_recursive(root: Type) -> bool:
    """Whether a value of this type may hold another value of the same type, and so on without end."""
    done: set[Type] = set()
    outer: set[Type] = set()

    def leads_back(avro_type: Type) -> bool:
        if avro_type in outer or avro_type in done:
            return avro_type in outer
        outer.add(avro_type)
        found = any(leads_back(child) for child in children(avro_type))
        outer.remove(avro_type)
        done.add(avro_type)
        return found

    return leads_back(root)


def every_type(root: Type) -> Iterator[Type]:
    """The type and all types inside it, each once."""
    seen: set[Type] = set()
    waiting = [root]
    while waiting:
        avro_type = waiting.pop()
        if avro_type not in seen:
            seen.add(avro_type)
            yield avro_type
            waiting.extend(children(avro_type))
