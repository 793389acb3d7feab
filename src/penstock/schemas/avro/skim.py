"""Validation of an encoded value without decoding: finds the first invalid position.

fastavro trusts lengths and counts. It reads a negative length as "all there is", fills an array of nulls as long as the
message says, and follows a recursive type until the process crashes. `skim` therefore runs first for schemas that allow
such messages (`needs_skim`), and finds the position and the reason after fastavro has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from penstock.schemas.avro.decimals import from_bytes
from penstock.schemas.avro.fits import MAX_DEPTH
from penstock.schemas.avro.logical import Logical, logical_misfit
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
    every_type,
    is_recursive,
    type_name,
)
from penstock.schemas.avro.sizes import any_expands, least

_MAX_LONG_BYTES = 10
_MAX_EMPTY_ITEMS = 100_000
_FREE_VALUES = 100_000
_VALUES_PER_BYTE = 10


class Unreadable(Exception):
    """The bytes do not match the type. Contains the path in the record, the position in the message and the reason."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path or 'the record'} at byte {position}: {reason}")


def needs_skim(root: Type) -> bool:
    """Whether a short message of this schema could make fastavro exhaust the memory or overflow the stack."""
    types = list(every_type(root))
    arrays = (avro_type for avro_type in types if isinstance(avro_type, ArrayType))
    is_repeated = any(isinstance(avro_type, ArrayType | MapType) for avro_type in types)
    return (
        is_recursive(root)
        or any(_reads_past_the_end(array.items) for array in arrays)
        or (is_repeated and any_expands(avro_type for avro_type in types if isinstance(avro_type, RecordType)))
    )


def _reads_past_the_end(root: Type) -> bool:
    """Whether fastavro reads a value of this type from no bytes at all, without an error."""
    records = (avro_type for avro_type in every_type(root) if isinstance(avro_type, RecordType))
    leaves = [root, *(field.type for record in records for field in record.fields)]
    return all(isinstance(leaf, FixedType | RecordType) or type_name(leaf) == "null" for leaf in leaves)


@lru_cache(maxsize=1_000)
def _written(record: RecordType) -> tuple[tuple[Field, ...], int]:
    """Return the fields of a record that have bytes, and the number of values in the others."""
    sizes = [least(field.type) for field in record.fields]
    fields = tuple(field for field, size in zip(record.fields, sizes, strict=True) if size.size > 0)
    return fields, sum(size.values for size in sizes if size.size == 0)


def skim(data: bytes, start: int, root: Type) -> None:
    """Validate the one value from `start` to the end of the message. Raise Unreadable at the first invalid position."""
    walk = _Walk(data, start)
    try:
        walk.over(root, "", 0)
    except RecursionError as error:
        raise Unreadable("", walk.position, "records are nested too deeply") from error
    if walk.position != len(data):
        raise Unreadable("", walk.position, f"{len(data) - walk.position} bytes follow the end of the record")


class _Walk:
    """Current position in the message. Advances value by value."""

    def __init__(self, data: bytes, position: int) -> None:
        self.position = position
        self._data = data
        self._empty = 0
        self._values_left = _FREE_VALUES + _VALUES_PER_BYTE * len(data)

    def over(self, avro_type: Type, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable(path, self.position, f"records are nested deeper than {MAX_DEPTH} levels")
        self._take(1, path)
        match avro_type:
            case UnionType(branches):
                self.over(branches[self._index(len(branches), path, "branches")], path, depth + 1)
            case RecordType():
                fields, empty = _written(avro_type)
                self._take(empty, path)
                for field in fields:
                    self.over(field.type, f"{path}.{field.name}" if path else field.name, depth + 1)
            case ArrayType(items) if (smallest := least(items)).size == 0:
                self._empty_items(path, smallest.values)
            case ArrayType(items):
                self._blocks(path, lambda inside: self.over(items, inside, depth + 1))
            case MapType(values):
                self._blocks(path, lambda inside: self._entry(values, inside, depth + 1))
            case _:
                self._scalar(avro_type, path)

    def _take(self, values: int, path: str) -> None:
        """Count values. A message that decodes to very many more values than it has bytes is refused."""
        self._values_left -= values
        if self._values_left < 0:
            raise Unreadable(path, self.position, f"{len(self._data)} bytes hold too many values")

    def _scalar(self, avro_type: Primitive | FixedType | EnumType, path: str) -> None:
        match avro_type:
            case Primitive(name, logical):
                self._primitive(name, logical, path)
            case FixedType(size=size, logical=logical):
                self._decimal(self._skip(size, path, f"{size} bytes"), logical, path)
            case EnumType(symbols=symbols):
                self._index(len(symbols), path, "symbols")

    def _entry(self, values: Type, path: str, depth: int) -> None:
        self._text(path)
        self.over(values, path, depth)

    def _primitive(self, name: str, logical: Logical | None, path: str) -> None:
        start = self.position
        value: int | str | None = None
        match name:
            case "null":
                pass
            case "int" | "long":
                value = self._long(path)
            case "string":
                value = self._text(path)
            case "bytes":
                self._decimal(self._bytes(path), logical, path)
            case _:
                self._skip(_WIDTHS[name], path, f"a {name}")
        wrong = logical_misfit(value, logical) if logical and value is not None else None
        if wrong:
            raise Unreadable(path, start, f"{value!r} {wrong}")

    def _decimal(self, data: bytes, logical: Logical | None, path: str) -> None:
        if logical is None:
            return
        try:
            from_bytes(data, logical)
        except ValueError as error:
            raise Unreadable(path, self.position - len(data), str(error)) from error

    def _text(self, path: str) -> str:
        start = self.position
        try:
            return self._bytes(path).decode()
        except UnicodeDecodeError as error:
            raise Unreadable(path, start, f"the text is not UTF-8: {error.reason}") from error

    def _bytes(self, path: str) -> bytes:
        start = self.position
        length = self._long(path)
        if length < 0:
            raise Unreadable(path, start, f"the length {length} is negative")
        return self._skip(length, path, f"{length} bytes")

    def _skip(self, length: int, path: str, what: str) -> bytes:
        left = len(self._data) - self.position
        if left < length:
            raise Unreadable(path, self.position, f"the message ends: {what} expected, {left} bytes left")
        self.position += length
        return self._data[self.position - length : self.position]

    def _index(self, count: int, path: str, what: str) -> int:
        start = self.position
        index = self._long(path)
        if not 0 <= index < count:
            raise Unreadable(path, start, f"{index} is not one of its {count} {what}")
        return index

    def _long(self, path: str) -> int:
        number = 0
        for place in range(_MAX_LONG_BYTES):
            byte = self._skip(1, path, "a number")[0]
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:  # noqa: PLR2004 - a number's last byte has its high bit clear
                return (number >> 1) ^ -(number & 1)
        raise Unreadable(path, self.position, f"a number takes more than {_MAX_LONG_BYTES} bytes")

    def _blocks(self, path: str, over_item: Callable[[str], None]) -> None:
        index = 0
        while count := self._count(path):
            for _ in range(count):
                over_item(f"{path}[{index}]")
                index += 1

    def _empty_items(self, path: str, values: int) -> None:
        """Count items without bytes. They need no validation, but fastavro creates values for each."""
        while count := self._count(path):
            self._empty += count * values
            if self._empty > _MAX_EMPTY_ITEMS:
                raise Unreadable(path, self.position, f"more than {_MAX_EMPTY_ITEMS} items take no bytes at all")

    def _count(self, path: str) -> int:
        count = self._long(path)
        if count < 0:
            self._long(path)
        return abs(count)


_WIDTHS = {"boolean": 1, "float": 4, "double": 8}
