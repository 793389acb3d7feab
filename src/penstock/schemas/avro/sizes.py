"""Minimum sizes of a type's values, computed without expanding named types.

A record that contains a named type twice doubles the number of values at each level. A schema of a few hundred bytes
may expand to more values than fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.errors import SchemaError
from penstock.schemas.avro.model import FixedType, Primitive, RecordType, Type, children

_FREE_VALUES = 1_000
_VALUES_PER_BYTE = 10
_FREE_VALUES_OF_ITEM = 20
_MAX_COLUMNS = 50_000
_WIDTHS = {"null": 0, "float": 4, "double": 8}


class Least(NamedTuple):
    """Minimum number of values in a value of some type, and their minimum size in bytes."""

    values: int
    size: int

    @property
    def is_reasonable(self) -> bool:
        """Whether a short message cannot decode to a huge value."""
        return self.values <= _FREE_VALUES + _VALUES_PER_BYTE * self.size


def least(root: Type) -> Least:
    """Return the minimum size of a type's values. Unconditional recursion counts once."""
    return _sizer()(root)


def largest_least(types: list[RecordType]) -> RecordType | None:
    """Return the first record whose values may be huge in a short message, or None."""
    size = _sizer()
    return next((record for record in types if not size(record).is_reasonable), None)


def any_expands(types: Iterable[RecordType]) -> bool:
    """Whether many short values of one of the types, in an array or map, may be huge once decoded."""
    sizes = map(_sizer(), types)
    return any(size.values > _FREE_VALUES_OF_ITEM + _VALUES_PER_BYTE * size.size for size in sizes)


def require_columns(root: RecordType) -> None:
    """Reject a schema with too many table columns. Tables expand named types at every use."""
    if _written_out(root) > _MAX_COLUMNS:
        raise SchemaError(
            f"the schema {root.name} has more than {_MAX_COLUMNS:,} fields once its names are written out",
            hint="use format: raw",
        )


def _written_out(root: Type) -> int:
    """Return the number of types in a schema with all names expanded. Recursion counts once."""
    known: dict[Type, int] = {}

    def count(avro_type: Type) -> int:
        if avro_type not in known:
            known[avro_type] = 1
            known[avro_type] = 1 + sum(map(count, children(avro_type)))
        return known[avro_type]

    return count(root)


def _sizer() -> Callable[[Type], Least]:
    known: dict[Type, Least] = {}

    def size(avro_type: Type) -> Least:
        match avro_type:
            case Primitive(name=name):
                return Least(1, _WIDTHS.get(name, 1))
            case FixedType(size=width):
                return Least(1, width)
            case RecordType(fields=fields):
                if avro_type not in known:
                    known[avro_type] = Least(1, 1)
                    inner = [size(field.type) for field in fields]
                    known[avro_type] = Least(1 + sum(each.values for each in inner), sum(each.size for each in inner))
                return known[avro_type]
            case _:
                return Least(1, 1)

    return size
