"""Check whether a value fits a type, and find the matching union branch, in linear time for any input.

A value that fits no branch is compared with every branch, and so are the values inside. Results are therefore cached
for each pair of value and type, and the work for one record is limited.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from penstock.errors import RecordInvalid
from penstock.schemas.avro.model import ArrayType, MapType, Primitive, RecordType, Type, UnionType, type_name
from penstock.schemas.avro.scalars import scalar_misfit, string_misfit

MAX_DEPTH = 200

_FREE_STEPS = 5_000
_STEPS_PER_VALUE = 100
_MANY_STEPS = 150_000
_MANY_STEPS_PER_VALUE = 5
_MAX_STEPS = 4_000_000
_PAIR = 2

Value = Any


def count_values(value: Value) -> int | None:
    """Return the number of values inside a value.

    Return None if the value is nested deeper than `MAX_DEPTH` or contains itself.
    """
    layer, count = [value], 1
    for _ in range(MAX_DEPTH):
        inner: dict[int, Value] = {}
        for item in layer:
            inside = item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else ()
            inner.update((id(child), child) for child in inside)
            count += len(inside)
        if not inner:
            return count
        layer = list(inner.values())
    return None


class Fits:
    """Checks the values of a record, which must not be modified meanwhile.

    Raises RecordInvalid once a record of `size` values takes more steps than any reasonable schema needs.
    """

    def __init__(self, size: int) -> None:
        few, many = _FREE_STEPS + _STEPS_PER_VALUE * size, _MANY_STEPS + _MANY_STEPS_PER_VALUE * size
        self._steps = min(few, many, _MAX_STEPS)
        self._known: dict[tuple[int, Type], bool] = {}
        self._branches: dict[tuple[int, Type], int | None] = {}

    def fits(self, value: Value, avro_type: Type) -> bool:
        """Return whether the value fits the type."""
        if not isinstance(avro_type, ArrayType | MapType | RecordType | UnionType):
            self.step()
            return scalar_misfit(value, avro_type) is None
        if isinstance(avro_type, UnionType):
            return self._fits_union(value, avro_type)
        if not isinstance(value, Mapping | list | tuple):
            return False
        if isinstance(avro_type, RecordType) and not self.may_be(value, avro_type):
            return False
        pair = (id(value), avro_type)
        known = self._known.get(pair)
        if known is None:
            self.step()
            known = self._known[pair] = self._fits_container(value, avro_type)
        return known

    def branch(self, value: Value, union: UnionType) -> int | None:
        """Return the index of the branch that accepts a value, or None if there is none or the branch is ambiguous.

        Like fastavro, prefers an array or a map to a record, double to float, and otherwise the first branch.
        """
        if not isinstance(value, Mapping | list | tuple):
            return self._branch(value, union)
        pair = (id(value), union)
        if pair not in self._branches:
            self.step()
            self._branches[pair] = self._branch(value, union)
        return self._branches[pair]

    def fitting(self, value: Value, union: UnionType) -> list[int]:
        """Return the indexes of all branches that the value fits."""
        return [index for index, branch in enumerate(union.branches) if self.fits(value, branch)]

    def may_be(self, value: Value, record: RecordType) -> bool:
        """Whether a value is a dict with the fields of the record, whose values may or may not fit."""
        self.step()
        if not isinstance(value, Mapping):
            return False
        names = value.keys()
        return record.required <= names <= record.types.keys()

    def step(self) -> None:
        """Count one step of work, the comparison of a value with a type."""
        self._steps -= 1
        if self._steps < 0:
            raise RecordInvalid(
                "the record cannot be checked: too many of its values could belong to several branches of a union",
                hint="name the branches, or use unions whose records have different fields",
            )

    def _fits_container(self, value: Value, avro_type: ArrayType | MapType | RecordType) -> bool:
        match avro_type:
            case ArrayType(items):
                return isinstance(value, list | tuple) and all(self.fits(item, items) for item in value)
            case MapType(values):
                return isinstance(value, Mapping) and all(
                    string_misfit(key) is None and self.fits(item, values) for key, item in value.items()
                )
            case RecordType():
                return all(self.fits(item, avro_type.types[name]) for name, item in value.items())

    def _fits_union(self, value: Value, union: UnionType) -> bool:
        if isinstance(value, tuple):
            index = named_branch(value, union)
            return index is not None and self.fits(value[1], union.branches[index])
        return self.branch(value, union) is not None

    def _branch(self, value: Value, union: UnionType) -> int | None:
        fitting = self.fitting(value, union)
        if not fitting:
            return None
        index = _preferred(fitting, union)
        is_changed = len(fitting) > 1 and _comes_back_changed(value, union.branches[index])
        is_grabbed = any(_grabs(branch, value) for branch in union.branches[:index])
        return None if is_changed or is_grabbed else index


def named_branch(value: tuple[Value, ...], union: UnionType) -> int | None:
    """Return the index of the branch named by a tuple `(name, value)`, or None if no branch has the name."""
    names = [type_name(branch) for branch in union.branches]
    return names.index(value[0]) if len(value) == _PAIR and value[0] in names else None


def _preferred(fitting: list[int], union: UnionType) -> int:
    plain = [index for index in fitting if not isinstance(union.branches[index], RecordType)]
    index = (plain or fitting)[0]
    if type_name(union.branches[index]) == "float":
        return next((other for other in plain if type_name(union.branches[other]) == "double"), index)
    return index


def _comes_back_changed(value: Value, branch: Type) -> bool:
    """Whether the value would change: a number or text becomes a date, time or UUID, or microseconds are lost."""
    if not isinstance(branch, Primitive) or branch.logical is None:
        return False
    return isinstance(value, int | str) or (branch.logical.name.endswith("millis") and value.microsecond % 1000 > 0)


def _grabs(branch: Type, value: Value) -> bool:
    """Whether foreign Avro writers would choose the branch, although the value does not fit."""
    if isinstance(branch, ArrayType):
        return isinstance(value, bytes)
    if not isinstance(branch, Primitive) or branch.logical is None:
        return False
    match branch.logical.name:
        case "uuid":
            return isinstance(value, str)
        case "date":
            return isinstance(value, str | dt.datetime)
        case _:
            return False
