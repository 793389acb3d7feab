"""Model of an Avro schema: a graph of small objects, with cycles for recursive types.

Objects are compared by identity. Two equal definitions at different positions are different types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final

from penstock.schemas.avro.logical import Logical


class Missing(Enum):
    """Default of a field without default. `None` is a valid default."""

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
    """Named type with a fixed number of bytes."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None


@dataclass(frozen=True, eq=False)
class EnumType:
    """Named list of symbols. A reader replaces unknown symbols by `default`."""

    name: str
    symbols: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True, eq=False)
class ArrayType:
    """List of values of one type."""

    items: Type


@dataclass(frozen=True, eq=False)
class MapType:
    """Values of one type, keyed by strings."""

    values: Type


@dataclass(frozen=True, eq=False)
class UnionType:
    """Value of one of several types."""

    branches: tuple[Type, ...]


@dataclass(frozen=True, eq=False)
class Field:
    """Field of a record. `default` is the value in the schema's JSON."""

    name: str
    type: Type
    default: object = MISSING
    aliases: tuple[str, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether the field may be missing."""
        return self.default is not MISSING


@dataclass(frozen=True, eq=False)
class RecordType:
    """Ordered, named fields. Fields are added during parsing, because a record may contain itself."""

    name: str
    aliases: tuple[str, ...] = ()
    fields: list[Field] = field(default_factory=list, repr=False)

    @cached_property
    def types(self) -> dict[str, Type]:
        """Types of the fields by name, once the record is complete."""
        return {item.name: item.type for item in self.fields}

    @cached_property
    def required(self) -> frozenset[str]:
        """Names of the fields without default, once the record is complete."""
        return frozenset(item.name for item in self.fields if not item.has_default)


NamedType = RecordType | EnumType | FixedType
Type = Primitive | NamedType | ArrayType | MapType | UnionType


def type_name(avro_type: Type) -> str:
    """Return a type's name for messages and union hints: `string`, `array`, or the full name."""
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
    """Yield the types directly inside a type."""
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
    """Whether a value of this type may contain values of the type itself, to any depth."""
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
    """Yield the type and all types inside, each once."""
    seen: set[Type] = set()
    waiting = [root]
    while waiting:
        avro_type = waiting.pop()
        if avro_type not in seen:
            seen.add(avro_type)
            yield avro_type
            waiting.extend(children(avro_type))
