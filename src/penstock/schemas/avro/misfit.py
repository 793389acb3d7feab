"""Explanation why a value does not fit its type: the field, the value, and the expected type.

`fits` defines which values fit. The check is complete but slow; `compiled` quickly accepts common values.

- No value is written that would be read back as something else: no boolean or float for an int, no number that a double
  cannot represent exactly, no text for a number or an array, no datetime for a date.
- An int is accepted for a double if exact, and as the underlying number of a date, time or timestamp.
- A float is rounded to 32 bits, a timestamp or time to the milliseconds of its type.
- In a union, the branch must be unambiguous. A tuple `(name, value)` names the branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.schemas.avro.fits import MAX_DEPTH, Fits, count_values, named_branch
from penstock.schemas.avro.model import ArrayType, EnumType, MapType, RecordType, Type, UnionType, type_name
from penstock.schemas.avro.scalars import scalar_misfit, string_misfit
from penstock.schemas.avro.words import listed, meant, shown

Value = Any


class Misfit(NamedTuple):
    """Path of an invalid value, with a message and a hint."""

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Render as `items[3].price: 'x' is not a double`."""
        return f"{self.path}: {self.message}" if self.path else self.message


def first_misfit(value: Value, avro_type: Type, path: str = "") -> Misfit | None:
    """Return the first value in a record that does not fit its type, or None. `path` is the record's path."""
    size = count_values(value)
    return too_deep(path) if size is None else find_misfit(value, avro_type, Fits(size), path)


def find_misfit(
    value: Value, avro_type: Type, checked: Fits, path: str = "", *, suggests: bool = True
) -> Misfit | None:
    """Like `first_misfit`, but reuse earlier checks of values in this record. Suggestions of similar names are slow."""
    try:
        return None if checked.fits(value, avro_type) else _Explanation(checked, suggests).of(value, avro_type, path)
    except RecursionError:
        return too_deep(path)


def too_deep(path: str = "") -> Misfit:
    """Return the misfit of a value that is nested too deeply."""
    return Misfit(path, f"the value is nested deeper than {MAX_DEPTH} levels, or holds itself")


class _Explanation:
    """Follows the first invalid value from the record down to the cause."""

    def __init__(self, checked: Fits, suggests: bool) -> None:
        self._checked = checked
        self._suggests = suggests

    def of(self, value: Value, avro_type: Type, path: str) -> Misfit:
        match avro_type:
            case ArrayType(items):
                return self._array(value, items, path)
            case MapType(values):
                return self._map(value, values, path)
            case RecordType():
                return self._record(value, avro_type, path)
            case UnionType():
                return self._union(value, avro_type, path)
            case EnumType(symbols=symbols):
                close = meant(value, symbols) if self._suggests and isinstance(value, str) else ""
                return Misfit(path, f"{shown(value)} is not one of {listed(symbols)}{close}")
            case _:
                return Misfit(path, f"{shown(value)} {scalar_misfit(value, avro_type)}")

    def _array(self, value: Value, items: Type, path: str) -> Misfit:
        if not isinstance(value, list | tuple):
            return Misfit(path, f"{shown(value)} is not an array", "give a list")
        index, item = next((index, item) for index, item in enumerate(value) if not self._checked.fits(item, items))
        return self.of(item, items, f"{path}[{index}]")

    def _map(self, value: Value, values: Type, path: str) -> Misfit:
        if not isinstance(value, Mapping):
            return Misfit(path, f"{shown(value)} is not a map", "give a dict")
        for key, item in value.items():
            wrong = string_misfit(key)
            if wrong:
                return Misfit(path, f"the key {shown(key)} {wrong}")
            if not self._checked.fits(item, values):
                return self.of(item, values, f"{path}[{shown(key)}]")
        raise AssertionError("explain a value that does not fit")

    def _record(self, value: Value, record: RecordType, path: str) -> Misfit:
        if not isinstance(value, Mapping):
            return Misfit(path, f"{shown(value)} is not a record {record.name}", "give a dict with its fields")
        for name in value:
            if name not in record.types:
                close = (
                    meant(str(name), [other for other in record.types if other not in value]) if self._suggests else ""
                )
                return Misfit(_inside(path, f"{name!s:.60}"), f"not a field of {record.name}{close}")
        for field in record.fields:
            inside = _inside(path, field.name)
            if field.name not in value:
                if not field.has_default:
                    return Misfit(inside, "missing, and it has no default", f"it is of type {type_name(field.type)}")
            elif not self._checked.fits(value[field.name], field.type):
                return self.of(value[field.name], field.type, inside)
        raise AssertionError("explain a value that does not fit")

    def _union(self, value: Value, union: UnionType, path: str) -> Misfit:
        if isinstance(value, tuple):
            return self._named_branch(value, union, path)
        fitting = self._checked.fitting(value, union)
        if not fitting:
            return self._no_branch(value, union, path)
        better = type_name(union.branches[fitting[-1]])
        message = f"{shown(value)} would be taken for another branch of the union"
        return Misfit(path, message, f"to mean {better}, give ({better!r}, value)")

    def _named_branch(self, value: tuple[Value, ...], union: UnionType, path: str) -> Misfit:
        index = named_branch(value, union)
        if index is not None:
            return self.of(value[1], union.branches[index], path)
        names = ", ".join(map(type_name, union.branches))
        hint = f"in a union a tuple is (branch, value), the branch one of {names}; give a list for an array"
        return Misfit(path, f"{shown(value)} names no branch of the union", hint)

    def _no_branch(self, value: Value, union: UnionType, path: str) -> Misfit:
        """Explain with the most likely branch: the only one, or the record with the most fields in common."""
        others = [branch for branch in union.branches if type_name(branch) != "null"]
        likely = others[0] if len(others) == 1 else _likely_branch(value, union)
        if not likely:
            return Misfit(path, f"{shown(value)} is not {' or '.join(map(type_name, union.branches))}")
        found = self.of(value, likely, path)
        is_nullable = len(others) == 1 < len(union.branches)
        return found._replace(message=f"{found.message}, nor null") if is_nullable and found.path == path else found


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _likely_branch(value: Value, union: UnionType) -> Type | None:
    if isinstance(value, Mapping):
        records = [branch for branch in union.branches if isinstance(branch, RecordType)]
        return max(records, key=lambda record: len(record.types.keys() & value.keys()), default=None)
    kind = ArrayType if isinstance(value, list) else ()
    return next((branch for branch in union.branches if isinstance(branch, kind)), None)
