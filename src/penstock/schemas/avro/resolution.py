"""Reading with a different schema than the writer's, by Avro's rules of schema resolution.

Each pair of types becomes a function that reads a value from a stream. Unchanged types are read by fastavro.

- In a union, a branch of the writer's type is chosen, else the first branch the type is promoted to, float and double
  last.
- The value has the logical type of the reader. Decimals and timestamps keep their meaning if both types are of that
  kind; otherwise the underlying number or bytes are read as the reader's type, as Avro requires.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from typing import Any

from fastavro.read import LOGICAL_READERS, SchemaResolutionError

from penstock.schemas.avro.decimals import DECIMAL, in_type
from penstock.schemas.avro.defaults import default_value
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.fast import READ_OPTIONS, read_data
from penstock.schemas.avro.logical import Logical
from penstock.schemas.avro.misreading import is_meant, is_promoted, misreadings
from penstock.schemas.avro.model import (
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
from penstock.schemas.avro.prepared import prepare

Read = Callable[[BytesIO], Any]
_Target = tuple[str | None, Read]
"""Field of the reader for a written field, if any, and its read function."""


def plain_reader(writer: Type) -> Read:
    """Return a function that reads a value from a stream as written."""
    prepared = prepare(writer)
    node, named = prepared.node, {"writer": prepared.named, "reader": {}}
    return lambda stream: read_data(stream, node, named, None, READ_OPTIONS)


def resolving_reader(reader: Type, writer: Type) -> Read:
    """Return a function that reads a value of the writer's type in the form of the reader's type.

    The function raises SchemaResolutionError for values without a form in the reader's type, and an error of
    `READ_FAILURES` for invalid bytes.
    """
    return _Resolver().of(reader, writer)


_read_long = plain_reader(Primitive("long"))
_read_string = plain_reader(Primitive("string"))


class _Resolver:
    """Creates one function per pair of types. Recursive pairs are called through a placeholder."""

    def __init__(self) -> None:
        self._known: dict[tuple[Type, Type], Read] = {}

    def of(self, reader: Type, writer: Type) -> Read:
        pair = (reader, writer)
        if pair not in self._known:
            self._known[pair] = self._later(pair)
            same = to_json(reader) == to_json(writer)
            self._known[pair] = plain_reader(writer) if same else self._resolved(reader, writer)
        return self._known[pair]

    def _later(self, pair: tuple[Type, Type]) -> Read:
        """Return a placeholder for recursive types, used while the function of the pair is being created."""

        def read(stream: BytesIO) -> object:
            return self._known[pair](stream)

        return read

    def _resolved(self, reader: Type, writer: Type) -> Read:
        if isinstance(writer, UnionType):
            return _written_union([self.of(reader, branch) for branch in writer.branches])
        if isinstance(reader, UnionType):
            branch = _branch_for(reader, writer)
            return _mismatch(reader, writer) if branch is None else self.of(branch, writer)
        match reader, writer:
            case ArrayType(items), ArrayType(written):
                found = _array(self.of(items, written))
            case MapType(values), MapType(written):
                found = _map(self.of(values, written))
            case RecordType(), RecordType():
                found = self._record(reader, writer)
            case EnumType(), EnumType():
                found = _enum(reader, writer)
            case _:
                found = _scalar(reader, writer)
        return found

    def _record(self, reader: RecordType, writer: RecordType) -> Read:
        taken: dict[str, list[Field]] = {}
        defaults: dict[str, object] = {}
        written = {field.name: field for field in writer.fields}
        for field in reader.fields:
            name = next((name for name in (field.name, *field.aliases) if name in written), None)
            if name is not None:
                taken.setdefault(name, []).append(field)
            elif field.has_default:
                defaults[field.name] = default_value(field)
            else:
                return _mismatch(reader, writer)
        steps: list[list[_Target]] = []
        for each in writer.fields:
            targets: list[_Target] = [
                (field.name, self.of(field.type, each.type)) for field in taken.get(each.name, [])
            ]
            steps.append(targets or [(None, plain_reader(each.type))])
        return _fields(steps, defaults)


def _fields(steps: list[list[_Target]], defaults: dict[str, object]) -> Read:
    is_shared = any(isinstance(value, list | dict) for value in defaults.values())

    def read(stream: BytesIO) -> object:
        record: dict[str | None, object] = {}
        for targets in steps:
            start = stream.tell()
            for name, read_field in targets:
                stream.seek(start)  # two fields may read one written field, whose name and alias they use
                record[name] = read_field(stream)
        record.pop(None, None)
        record.update(copy.deepcopy(defaults) if is_shared else defaults)
        return record

    return read


def _written_union(branches: list[Read]) -> Read:
    def read(stream: BytesIO) -> object:
        index = _read_long(stream)
        if not 0 <= index < len(branches):
            raise ValueError(f"{index} is not one of its {len(branches)} branches")
        return branches[index](stream)

    return read


def _branch_for(reader: UnionType, writer: Type) -> Type | None:
    """Return the branch that reads the writer's type."""
    same = [branch for branch in reader.branches if _is_same(branch, writer)]
    similar = [branch for branch in reader.branches if is_meant(branch, writer)]
    promoted = [branch for branch in reader.branches if is_promoted(branch, writer)]
    promoted.sort(key=lambda branch: type_name(branch) in {"float", "double"})
    candidates = [*same, *similar, *promoted]
    readable = (branch for branch in candidates if not misreadings(branch, writer))
    return next(readable, candidates[0] if candidates else None)


def _is_same(branch: Type, writer: Type) -> bool:
    return type(branch) is type(writer) and type_name(branch) == type_name(writer)


def _array(read_item: Read) -> Read:
    def read(stream: BytesIO) -> object:
        items: list[object] = []
        while count := _block(stream):
            items += [read_item(stream) for _ in range(count)]
        return items

    return read


def _map(read_value: Read) -> Read:
    def read(stream: BytesIO) -> object:
        entries: dict[object, object] = {}
        while count := _block(stream):
            for _ in range(count):
                key = _read_string(stream)
                entries[key] = read_value(stream)
        return entries

    return read


def _block(stream: BytesIO) -> int:
    count: int = _read_long(stream)
    if count < 0:
        _read_long(stream)
    return abs(count)


def _enum(reader: EnumType, writer: EnumType) -> Read:
    read_symbol, known = plain_reader(writer), frozenset(reader.symbols)

    def read(stream: BytesIO) -> object:
        symbol = read_symbol(stream)
        if symbol in known:
            return symbol
        if reader.default is None:
            raise SchemaResolutionError(f"{symbol} is not one of the symbols of {reader.name}, which has no default")
        return reader.default

    return read


def _scalar(reader: Type, writer: Type) -> Read:
    match reader, writer:
        case FixedType(), FixedType() if reader.size == writer.size:
            return _converted(reader, writer)
        case Primitive(), Primitive() if is_promoted(reader, writer):
            return _converted(reader, writer)
        case _:
            return _mismatch(reader, writer)


def _converted(reader: Primitive | FixedType, writer: Primitive | FixedType) -> Read:
    if reader.logical and writer.logical and (reader.logical.name, writer.logical.name) in _SAME_MEANING:
        read_value, logical = plain_reader(writer), reader.logical
        return lambda stream: _in_precision(read_value(stream), logical)
    read_raw, promote = plain_reader(_without_logical(writer)), _promotion(reader, writer)
    base = "fixed" if isinstance(reader, FixedType) else reader.name
    convert = _conversion(base, reader.logical)
    return lambda stream: convert(promote(read_raw(stream)))


def _in_precision(value: Any, logical: Logical) -> object:  # noqa: ANN401 - depends on the logical type
    if isinstance(value, Decimal):
        return in_type(value, logical)
    return value.replace(microsecond=value.microsecond // 1000 * 1000) if logical.name.endswith("millis") else value


def _without_logical(writer: Primitive | FixedType) -> Type:
    return FixedType(writer.name, writer.size) if isinstance(writer, FixedType) else Primitive(writer.name)


def _promotion(reader: Type, writer: Type) -> Callable[[Any], object]:
    match type_name(reader), type_name(writer):
        case "float" | "double", "int" | "long":
            return float
        case "bytes", "string":
            return str.encode
        case "string", "bytes":
            return bytes.decode
        case _:
            return lambda value: value


def _conversion(base: str, logical: Logical | None) -> Callable[[object], object]:
    if logical is None:
        return lambda value: value
    name = DECIMAL if logical.name == "decimal" else logical.name
    convert, node = LOGICAL_READERS[f"{base}-{name}"], {"precision": logical.precision, "scale": logical.scale}
    return lambda value: convert(value, node, None)


def _mismatch(reader: Type, writer: Type) -> Read:
    def read(_stream: BytesIO) -> object:
        raise SchemaResolutionError(f"{type_name(reader)} does not read {type_name(writer)}")

    return read


def _pairs(*names: str) -> set[tuple[str, str]]:
    return {(one, other) for one in names for other in names}


_SAME_MEANING = (
    _pairs("decimal")
    | _pairs("timestamp-millis", "timestamp-micros")
    | _pairs("local-timestamp-millis", "local-timestamp-micros")
)
