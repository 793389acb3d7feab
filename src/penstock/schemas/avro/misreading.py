"""Reasons why a schema cannot read records of a different schema, by Avro's rules of schema resolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from penstock.schemas.avro.model import (
    ArrayType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    Primitive,
    RecordType,
    Type,
    UnionType,
    type_name,
)

_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "string": {"bytes"},
    "bytes": {"string"},
}


class Kind(Enum):
    """The six reasons, with the names used by Avro and Confluent's registry."""

    NAME_MISMATCH = "NAME_MISMATCH"
    FIXED_SIZE_MISMATCH = "FIXED_SIZE_MISMATCH"
    MISSING_ENUM_SYMBOLS = "MISSING_ENUM_SYMBOLS"
    READER_FIELD_MISSING_DEFAULT_VALUE = "READER_FIELD_MISSING_DEFAULT_VALUE"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    MISSING_UNION_BRANCH = "MISSING_UNION_BRANCH"


class Place(NamedTuple):
    """Position in the reader's schema: as a pointer (`/fields/1/type`) and in readable form (`items[].price`)."""

    pointer: str = ""
    field: str = ""

    def of_field(self, index: int, name: str) -> Place:
        """Return the position of a record's field."""
        return Place(f"{self.pointer}/fields/{index}", f"{self.field}.{name}" if self.field else name)

    def inside(self, part: str, suffix: str = "") -> Place:
        """Return a position directly below, such as an array's items."""
        return Place(f"{self.pointer}/{part}", self.field + suffix)


@dataclass(frozen=True)
class Misreading:
    """Reason with a position. The message uses the names in `Roles`."""

    kind: Kind
    place: Place
    message: str


@dataclass(frozen=True)
class Roles:
    """Names of the two schemas in messages."""

    reader: str = "reader's"
    writer: str = "writer's"


def misreadings(reader: Type, writer: Type, roles: Roles | None = None) -> list[Misreading]:
    """Return every reason why the reader's schema cannot read records of the writer's schema."""
    found = _Comparison(roles or Roles()).of(reader, writer, Place())
    return list(dict.fromkeys(found))


class _Comparison:
    """Compares types pairwise. A pair under comparison counts as compatible, so that recursion ends."""

    def __init__(self, roles: Roles) -> None:
        self._reader, self._writer = roles.reader, roles.writer
        self._known: dict[tuple[Type, Type], list[Misreading]] = {}

    def of(self, reader: Type, writer: Type, place: Place) -> list[Misreading]:
        pair = (reader, writer)
        if pair not in self._known:
            self._known[pair] = []
            # Remove duplicates: a type used twice reports its reasons twice, and they would double with every level.
            self._known[pair] = list(dict.fromkeys(self._compared(reader, writer, place)))
        return self._known[pair]

    def _compared(self, reader: Type, writer: Type, place: Place) -> Iterator[Misreading]:
        match reader, writer:
            case _, UnionType(branches):
                for branch in branches:
                    yield from self.of(reader, branch, place)
            case UnionType(), _:
                yield from self._branch(reader, writer, place)
            case ArrayType(items), ArrayType(written):
                yield from self.of(items, written, place.inside("items", "[]"))
            case MapType(values), MapType(written):
                yield from self.of(values, written, place.inside("values", "{}"))
            case (RecordType() | EnumType() | FixedType()) as read, (
                RecordType() | EnumType() | FixedType()
            ) as written if type(read) is type(written):
                yield from self._named(read, written, place)
            case _ if not is_promoted(reader, writer):
                yield Misreading(
                    Kind.TYPE_MISMATCH,
                    place,
                    f"the {self._reader} type {type_name(reader)} does not read "
                    f"the {self._writer} type {type_name(writer)}",
                )

    def _branch(self, reader: UnionType, writer: Type, place: Place) -> Iterator[Misreading]:
        found = [self.of(branch, writer, place.inside(str(i))) for i, branch in enumerate(reader.branches)]
        if [] in found:
            return
        for branch, reasons in zip(reader.branches, found, strict=True):
            if is_meant(branch, writer):
                yield from reasons
                return
        yield Misreading(
            Kind.MISSING_UNION_BRANCH,
            place,
            f"the {self._reader} union has no branch that reads the {self._writer} {type_name(writer)}",
        )

    def _named(self, reader: NamedType, writer: NamedType, place: Place) -> Iterator[Misreading]:
        if not _is_same_name(reader, writer):
            wrong = f"the {self._reader} name {reader.name} is not the {self._writer} name {writer.name}"
            yield Misreading(Kind.NAME_MISMATCH, place.inside("name"), wrong)
        match reader, writer:
            case RecordType(), RecordType():
                yield from self._fields(reader, writer, place)
            case EnumType(), EnumType():
                yield from self._symbols(reader, writer, place)
            case FixedType(), FixedType() if reader.size != writer.size:
                sizes = f"the {self._reader} size {reader.size}, the {self._writer} {writer.size}"
                yield Misreading(Kind.FIXED_SIZE_MISMATCH, place.inside("size"), sizes)

    def _fields(self, reader: RecordType, writer: RecordType, place: Place) -> Iterator[Misreading]:
        by_name = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            inside = place.of_field(index, field.name)
            written = next((by_name[name] for name in (field.name, *field.aliases) if name in by_name), None)
            if written is not None:
                yield from self.of(field.type, written.type, inside.inside("type"))
            elif not field.has_default:
                yield Misreading(
                    Kind.READER_FIELD_MISSING_DEFAULT_VALUE,
                    inside,
                    f"the {self._writer} schema lacks the field, the {self._reader} one has no default for it",
                )

    def _symbols(self, reader: EnumType, writer: EnumType, place: Place) -> Iterator[Misreading]:
        known = set(reader.symbols)
        missing = [symbol for symbol in writer.symbols if symbol not in known]
        if missing and reader.default is None:
            yield Misreading(
                Kind.MISSING_ENUM_SYMBOLS,
                place.inside("symbols"),
                f"the {self._reader} enum lacks {', '.join(missing)} of the {self._writer} one, and has no default",
            )


def is_promoted(reader: Type, writer: Type) -> bool:
    """Whether a primitive type reads itself or a promotable type."""
    if not isinstance(reader, Primitive) or not isinstance(writer, Primitive):
        return False
    return reader.name == writer.name or writer.name in _PROMOTIONS.get(reader.name, ())


def is_meant(branch: Type, writer: Type) -> bool:
    """Whether a union's branch was intended to read the writer's type."""
    if isinstance(branch, NamedType) and isinstance(writer, NamedType):
        return type(branch) is type(writer) and _is_same_name(branch, writer)
    return isinstance(branch, ArrayType | MapType) and type(branch) is type(writer)


def _is_same_name(reader: NamedType, writer: NamedType) -> bool:
    same = reader.name.rpartition(".")[2] == writer.name.rpartition(".")[2]
    return same or writer.name in reader.aliases
