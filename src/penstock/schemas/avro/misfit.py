"""Why a value does not fit its type: the field, the value, and what was expected.

This walk is the definition of what fits. It is complete and slow; `compiled` is quick about what surely fits.

- Nothing is written that would read back as something else: no boolean or float for an int, no number that a
  double cannot hold exactly, no text for a number or an array, no datetime for a date.
- An int may stand for a double that is exact, and for the number beneath a date, time or timestamp.
- A float is rounded to 32 bits, a timestamp or time to the milliseconds of its type.
- In a union fastavro's choice must fit: the first branch that takes the value, or the record that shares most
  fields with it. A tuple `(name, value)` names the branch.
"""

from __future__ import annotations

import ctypes
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.schemas.avro.logical import logical_misfit
from penstock.schemas.avro.model import (
    FLOAT_MAX,
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
    type_name,
)
from penstock.schemas.avro.plain import chosen_branch
from penstock.schemas.avro.words import meant, shown

MAX_DEPTH = 200

_HINTED = 2

Value = Any


class Misfit(NamedTuple):
    """One value that does not fit: where it stands, and what is wrong with it."""

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Render as `items[3].price: 'x' is not a double`."""
        return f"{self.path}: {self.message}" if self.path else self.message


def first_misfit(value: Value, avro_type: Type, path: str = "") -> Misfit | None:
    """The first value in a record that does not fit its type, or nothing; `path` is where the record stands."""
    too_deep = Misfit(path, f"the value is nested deeper than {MAX_DEPTH} levels, or holds itself")
    try:
        return too_deep if _is_deeper(value, MAX_DEPTH) else _misfit(value, avro_type, path)
    except RecursionError:
        return too_deep


def _is_deeper(value: Value, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        inner: dict[int, Value] = {}
        for item in layer:
            inside = item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else ()
            inner.update((id(child), child) for child in inside)
        if not inner:
            return False
        layer = list(inner.values())
    return True


def _misfit(value: Value, avro_type: Type, path: str) -> Misfit | None:
    match avro_type:
        case ArrayType(items):
            return _array(value, items, path)
        case MapType(values):
            return _map(value, values, path)
        case RecordType():
            return _record(value, avro_type, path)
        case UnionType():
            return _union(value, avro_type, path)
        case _:
            wrong = _scalar(value, avro_type)
            return Misfit(path, f"{shown(value)} {wrong}") if wrong else None


def _scalar(value: Value, avro_type: Primitive | FixedType | EnumType) -> str | None:
    match avro_type:
        case EnumType(symbols=symbols):
            fits = isinstance(value, str) and value in symbols
            return None if fits else f"is not one of {', '.join(symbols)}{meant(str(value), symbols)}"
        case Primitive(logical=logical) | FixedType(logical=logical) if logical:
            return logical_misfit(value, logical)
        case FixedType(size=size):
            if not isinstance(value, bytes):
                return "is not bytes"
            return None if len(value) == size else f"has {len(value)} bytes, not {size}"
        case Primitive(name=name):
            return _PRIMITIVES[name](value)


def _int(value: Value) -> str | None:
    return _integer(value, "an int", INT_RANGE)


def _long(value: Value) -> str | None:
    return _integer(value, "a long", LONG_RANGE)


def _integer(value: Value, name: str, allowed: range) -> str | None:
    if isinstance(value, bool):
        return f"is a boolean, not {name}"
    if not isinstance(value, numbers.Integral):
        return f"is not {name}"
    return None if int(value) in allowed else f"does not fit {name} ({allowed[0]} to {allowed[-1]})"


def _float(value: Value) -> str | None:
    wrong = _double(value)
    if wrong:
        return wrong.replace("a double", "a float")
    if math.isfinite(value) and abs(value) > FLOAT_MAX:
        return "is too large for a float of 32 bits"
    rounded = not isinstance(value, float) and ctypes.c_float(value).value != value
    return "cannot be held exactly by a float of 32 bits" if rounded else None


def _double(value: Value) -> str | None:
    if isinstance(value, bool):
        return "is a boolean, not a double"
    if not isinstance(value, numbers.Real):
        return "is not a double"
    try:
        exact = math.isnan(value) or float(value) == value
    except OverflowError:
        exact = False
    return None if exact else "cannot be held exactly by a double"


def _string(value: Value) -> str | None:
    if not isinstance(value, str):
        return "is not a string"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "has half of a surrogate pair, which UTF-8 cannot hold"
    return None


_PRIMITIVES: dict[str, Callable[[Value], str | None]] = {
    "null": lambda value: None if value is None else "is not null",
    "boolean": lambda value: None if isinstance(value, bool) else "is not a boolean",
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": lambda value: None if isinstance(value, bytes | bytearray) else "is not bytes",
    "string": _string,
}


def _array(value: Value, items: Type, path: str) -> Misfit | None:
    if not isinstance(value, list | tuple):
        return Misfit(path, f"{shown(value)} is not an array", "give a list")
    found = (_misfit(item, items, f"{path}[{index}]") for index, item in enumerate(value))
    return next(filter(None, found), None)


def _map(value: Value, values: Type, path: str) -> Misfit | None:
    if not isinstance(value, Mapping):
        return Misfit(path, f"{shown(value)} is not a map", "give a dict")
    for key, item in value.items():
        wrong = _string(key)
        if wrong:
            return Misfit(path, f"the key {shown(key)} {wrong}")
        found = _misfit(item, values, f"{path}[{key!r}]")
        if found:
            return found
    return None


def _record(value: Value, record: RecordType, path: str) -> Misfit | None:
    if not isinstance(value, Mapping):
        return Misfit(path, f"{shown(value)} is not a record {record.name}", "give a dict with its fields")
    names = [field.name for field in record.fields]
    for name in value:
        if name not in names:
            close = meant(str(name), [item for item in names if item not in value])
            return Misfit(_inside(path, str(name)), f"not a field of {record.name}{close}")
    for field in record.fields:
        inside = _inside(path, field.name)
        if field.name in value:
            found = _misfit(value[field.name], field.type, inside)
            if found:
                return found
        elif not field.has_default:
            return Misfit(inside, "missing, and it has no default", f"it is of type {type_name(field.type)}")
    return None


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _union(value: Value, union: UnionType, path: str) -> Misfit | None:
    if isinstance(value, tuple):
        return _named_branch(value, union, path)
    index = chosen_branch(union, value)
    if index is None:
        found, others = None, union.branches
    else:
        chosen, others = union.branches[index], union.branches[:index] + union.branches[index + 1 :]
        found = _misfit(value, chosen, path)
        if found is None and not _comes_back_changed(value, chosen):
            return None
    better = next((type_name(branch) for branch in others if _misfit(value, branch, path) is None), None)
    if better is None:
        return found if index is not None else _no_branch(value, union, path)
    message = f"{shown(value)} would be taken for another branch of the union"
    return Misfit(path, message, f"to mean {better}, give ({better!r}, value)")


def _comes_back_changed(value: Value, branch: Type) -> bool:
    """Whether a number or text becomes a date, time or UUID, or microseconds are lost."""
    if not isinstance(branch, Primitive) or branch.logical is None:
        return False
    return isinstance(value, int | str) or (branch.logical.name.endswith("millis") and value.microsecond % 1000 > 0)


def _named_branch(value: tuple[Value, ...], union: UnionType, path: str) -> Misfit | None:
    names = [type_name(branch) for branch in union.branches]
    if len(value) != _HINTED or value[0] not in names:
        hint = f"in a union a tuple is (branch, value), the branch one of {', '.join(names)}; give a list for an array"
        return Misfit(path, f"{shown(value)} names no branch of the union", hint)
    return _misfit(value[1], union.branches[names.index(value[0])], path)


def _no_branch(value: Value, union: UnionType, path: str) -> Misfit:
    """Explain by the branch that was most likely meant: the only one, or the record that looks most alike."""
    others = [branch for branch in union.branches if type_name(branch) != "null"]
    likely = others[0] if len(others) == 1 else _likely_branch(value, union)
    found = likely and _misfit(value, likely, path)
    if not found:
        return Misfit(path, f"{shown(value)} is not {' or '.join(map(type_name, union.branches))}")
    is_nullable = len(others) == 1 < len(union.branches)
    return found._replace(message=f"{found.message}, nor null") if is_nullable and found.path == path else found


def _likely_branch(value: Value, union: UnionType) -> Type | None:
    if isinstance(value, Mapping):
        records = [branch for branch in union.branches if isinstance(branch, RecordType)]
        return max(records, key=lambda record: sum(field.name in value for field in record.fields), default=None)
    kind = ArrayType if isinstance(value, list) else ()
    return next((branch for branch in union.branches if isinstance(branch, kind)), None)
