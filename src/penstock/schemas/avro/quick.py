"""The quick check before fastavro writes: only over what fastavro would let through.

fastavro itself refuses a missing or extra field, a number for a string, an unknown symbol. It lets through a float
for an int, text for a boolean, bytes for an array. For each record type a function is generated that looks at
just those values, by their exact Python types; for six strings there is nothing to look at. It answers `True`
for "fits if fastavro takes it". `False` only means "not surely": `misfit` then looks closely.

The function for `{"version": int, "items": array of Item}` reads:

    def check(v):
        a = v['version']
        if type(a) is not int or not -2147483648 <= a <= 2147483647: return False
        b = v['items']
        if type(b) is not list: return False
        for c in b:
            if not check_1(c): return False
        return True
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.schemas.avro.logical import Logical, logical_misfit
from penstock.schemas.avro.model import (
    FLOAT_MAX,
    INT_RANGE,
    ArrayType,
    EnumType,
    FixedType,
    MapType,
    Primitive,
    RecordType,
    Type,
    UnionType,
    is_recursive,
)

Check = Callable[[Any], bool]
Lines = list[str]

_EXACT_INT = 1 << 53
_NOT_EXACT = f"not (type({{v}}) is int and -{_EXACT_INT} <= {{v}} <= {_EXACT_INT})"
_WRONG = {
    "null": "{v} is not None",
    "boolean": "type({v}) is not bool",
    "int": f"type({{v}}) is not int or not {INT_RANGE[0]} <= {{v}} <= {INT_RANGE[-1]}",
    "long": "type({v}) is not int",
    "float": f"type({{v}}) is not float or not -{FLOAT_MAX} <= {{v}} <= {FLOAT_MAX}",
    "double": f"type({{v}}) is not float and {_NOT_EXACT}",
}


def quick_check(root: Type) -> Check | None:
    """The check for a schema, or nothing if fastavro refuses by itself all that does not fit.

    A type that may hold itself is never surely fine: how deep a value goes has to be measured first.
    """
    return _never if is_recursive(root) else _Generator().check(root)


def _never(_value: object) -> bool:
    return False


class _Generator:
    """Makes one function for each record type, and one for the root."""

    def __init__(self) -> None:
        self._records: dict[int, str | None] = {}
        self._env: dict[str, Any] = {kind.__name__: kind for kinds in _ALL_TAKES for kind in kinds}
        self._names = 0

    def check(self, root: Type) -> Check | None:
        name = self._function(self._lines(root, "v"))
        return self._env[name] if name else None

    def _function(self, lines: Lines) -> str | None:
        if not lines:
            return None
        name = self._new("check_")
        source = "\n".join([f"def {name}(v):", *_indented([*lines, "return True"])])
        exec(compile(source, f"<{name}>", "exec"), self._env)  # noqa: S102 - the source is made here, names in it by repr
        return name

    def _new(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _lines(self, avro_type: Type, var: str) -> Lines:
        match avro_type:
            case ArrayType(items):
                return [_refuse(f"type({var}) is not list"), *self._loop(items, var)]
            case MapType(values):
                return [_refuse(f"type({var}) is not dict"), *self._loop(values, f"{var}.values()")]
            case RecordType():
                name = self._record(avro_type)
                return [_refuse(f"not {name}({var})")] if name else []
            case UnionType():
                return self._union(avro_type, var)
            case Primitive(logical=Logical() as logical) | FixedType(logical=Logical() as logical):
                return self._logical(logical, var)
            case _:
                wrong = _WRONG.get(avro_type.name) if isinstance(avro_type, Primitive) else None
                return [_refuse(wrong.format(v=var))] if wrong else []

    def _loop(self, inner: Type, iterable: str) -> Lines:
        item = self._new("x")
        lines = self._lines(inner, item)
        return [f"for {item} in {iterable}:", *_indented(lines)] if lines else []

    def _record(self, record: RecordType) -> str | None:
        if id(record) not in self._records:
            lines = [line for field in record.fields for line in self._field(field.name, field.type, field.has_default)]
            no_fields = [] if record.fields else [_refuse("type(v) is not dict")]
            self._records[id(record)] = self._function(no_fields + lines)
        return self._records[id(record)]

    def _field(self, name: str, avro_type: Type, may_be_left_out: bool) -> Lines:
        item = self._new("x")
        lines = self._lines(avro_type, item)
        if not lines:
            return []
        if may_be_left_out:
            return [f"if {name!r} in v:", *_indented([f"{item} = v[{name!r}]", *lines])]
        return [f"{item} = v[{name!r}]", *lines]

    def _logical(self, logical: Logical, var: str) -> Lines:
        usual = _refuse(f"type({var}) is not {_LOGICAL_TAKES[logical.name][0].__name__}")
        if logical.name in {"date", "uuid"}:
            return [usual]
        if logical.name in {"timestamp-millis", "timestamp-micros"}:
            return [usual, _refuse(f"{var}.tzinfo is None")]
        name = self._new("misfit_")
        self._env[name] = lambda value: logical_misfit(value, logical)
        return [usual, _refuse(f"{name}({var})")]

    def _union(self, union: UnionType, var: str) -> Lines:
        """Look into the branch that a value's exact type leads to; where several may take it, be not sure."""
        risky = {kind for branch in union.branches if not _is_harmless(branch) for kind in _takes(branch)}
        if not risky:
            return []
        harmless = {kind for branch in union.branches if _is_harmless(branch) for kind in _takes(branch)}
        takers = Counter(kind for branch in union.branches for kind in _takes(branch))
        cases = [(harmless - risky, ["pass"])]
        for branch in union.branches:
            kinds = _looked_at(branch)
            if not _is_harmless(branch) and all(takers[kind] == 1 for kind in kinds):
                cases.append((kinds, [*self._lines(branch, var), "pass"]))
        return [*_chain(f"type({var})", cases), "else: return False"]


def _refuse(condition: str) -> str:
    return f"if {condition}: return False"


def _indented(lines: Iterable[str]) -> Lines:
    return [f"    {line}" for line in lines]


def _chain(subject: str, cases: list[tuple[set[type], Lines]]) -> Lines:
    lines: Lines = []
    for kinds, block in cases:
        names = "".join(f"{kind.__name__}, " for kind in sorted(kinds, key=lambda kind: kind.__name__))
        lines += [f"{'elif' if lines else 'if'} {subject} in ({names}):", *_indented(block)]
    return lines


def _is_harmless(branch: Type) -> bool:
    """Whether fastavro takes for this branch only what reads back the same, however many branches might take it."""
    match branch:
        case Primitive(name, logical):
            return logical is None and name not in {"float", "double"}
        case FixedType(logical=logical):
            return logical is None
        case _:
            return isinstance(branch, EnumType)


def _takes(branch: Type) -> tuple[type, ...]:
    """The Python types that fastavro may take for a branch, the usual one first."""
    match branch:
        case Primitive(logical=Logical(name=name)) | FixedType(logical=Logical(name=name)):
            return _LOGICAL_TAKES[name]
        case Primitive(name=name):
            return _PRIMITIVE_TAKES[name]
        case FixedType():
            return (bytes,)
        case EnumType():
            return (str,)
        case ArrayType():
            return (list, bytes)
        case _:
            return (dict,)


def _looked_at(branch: Type) -> set[type]:
    """The Python types for which the generated lines can say that a value fits the branch."""
    is_number = isinstance(branch, Primitive) and branch.name == "double"
    return {float, int} if is_number else {_takes(branch)[0]}


_PRIMITIVE_TAKES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float, int),
    "double": (float, int),
    "bytes": (bytes,),
    "string": (str,),
}
_LOGICAL_TAKES: dict[str, tuple[type, ...]] = {
    "timestamp-millis": (dt.datetime, int),
    "timestamp-micros": (dt.datetime, int),
    "local-timestamp-millis": (dt.datetime, int),
    "local-timestamp-micros": (dt.datetime, int),
    "date": (dt.date, dt.datetime, int, str),
    "time-millis": (dt.time, int),
    "time-micros": (dt.time, int),
    "decimal": (Decimal, bytes),
    "uuid": (UUID, str),
}
_ALL_TAKES = (*_PRIMITIVE_TAKES.values(), *_LOGICAL_TAKES.values())
