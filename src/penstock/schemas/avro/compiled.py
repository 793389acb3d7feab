r"""Compiler of schemas to Python. Generates a function per record type that checks and writes in a single pass.

The functions support the exact Python types that records usually contain, and produce fastavro's bytes about twice as
fast. All other values raise an error of `UNSURE`. `misfit` then checks the value completely, and fastavro writes the
value if it fits. The function for a record with a string, an int and a boolean is

    def write_1(v):
        if len(v) != 3: v = fill_2(v)
        x3 = encode(v['sku'])
        x4 = v['count']
        if not (type(x4) is int and -2147483648 <= x4 <= 2147483647): raise Unsure
        x5 = v['paid']
        if not (type(x5) is bool): raise Unsure
        return join((varint[len(x3)], x3, varint[x4], b'\1' if x5 else b'\0', ))
"""

from __future__ import annotations

import datetime as dt
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from fastavro.write import LOGICAL_WRITERS

from penstock.schemas.avro.decimals import DECIMAL
from penstock.schemas.avro.defaults import default_value
from penstock.schemas.avro.logical import Logical, logical_misfit
from penstock.schemas.avro.model import (
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
from penstock.schemas.avro.pieces import Unsure, Write, array_of, encode, filler, join, map_of, varint

UNSURE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)

_EXACT = 1 << 53
_FITS = {
    "null": "{x} is None",
    "boolean": "type({x}) is bool",
    "int": f"type({{x}}) is int and {INT_RANGE[0]} <= {{x}} <= {INT_RANGE[-1]}",
    "long": "type({x}) is int",
    "float": "type({x}) is float",
    "double": f"type({{x}}) is float or type({{x}}) is int and -{_EXACT} <= {{x}} <= {_EXACT}",
    "bytes": "type({x}) is bytes",
}
_PIECES = {
    "null": [],
    "boolean": [r"b'\1' if {x} else b'\0'"],
    "int": ["varint[{x}]"],
    "long": ["varint[{x}]"],
    "float": ["real({x})"],
    "double": ["double({x})"],
    "bytes": ["varint[len({x})]", "{x}"],
    "string": ["varint[len({x})]", "{x}"],
}


class Code(NamedTuple):
    """Generated code for a value: lines with checks, and expressions for the encoded bytes."""

    lines: list[str]
    pieces: list[str]


def compile_writer(root: Type) -> Write | None:
    """Return a function that writes a value, or raises an error of `UNSURE`.

    Return None for recursive types, whose nesting must be measured before writing.
    """
    return None if is_recursive(root) else _Compiler().writer(root)


class _Compiler:
    """Generates one function per type, all into a shared namespace."""

    def __init__(self) -> None:
        self._env: dict[str, Any] = {
            **{
                kind.__name__: kind
                for kinds in (*_PRIMITIVE_TAKES.values(), *_LOGICAL_TAKES.values())
                for kind in kinds
            },
            "Unsure": Unsure,
            "double": struct.Struct("<d").pack,
            "encode": encode,
            "join": join,
            "real": struct.Struct("<f").pack,
            "varint": varint,
        }
        self._functions: dict[Type, str] = {}
        self._count = 0

    def writer(self, avro_type: Type) -> Write:
        write: Write = self._env[self._function(avro_type)]
        return write

    def _function(self, avro_type: Type) -> str:
        if avro_type not in self._functions:
            self._functions[avro_type] = self._made(avro_type)
        return self._functions[avro_type]

    def _made(self, avro_type: Type) -> str:
        match avro_type:
            case ArrayType(items):
                return self._keep("array_", array_of(self.writer(items)))
            case MapType(values):
                return self._keep("map_", map_of(self.writer(values)))
            case Primitive(logical=Logical() as logical) | FixedType(logical=Logical() as logical):
                return self._keep("logical_", self._logical(avro_type, logical))
            case RecordType():
                return self._defined(self._record(avro_type))
            case UnionType():
                return self._defined(self._union(avro_type))
            case _:
                return self._defined(_returned(self._value(avro_type, "v")))

    def _keep(self, prefix: str, value: object) -> str:
        name = self._new(prefix)
        self._env[name] = value
        return name

    def _new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _defined(self, lines: Iterable[str]) -> str:
        name = self._new("write_")
        source = "\n".join([f"def {name}(v):", *_indented(lines)])
        exec(compile(source, f"<{name}>", "exec"), self._env)  # noqa: S102 - generated here, with every name quoted by repr
        return name

    def _record(self, record: RecordType) -> list[str]:
        defaults = {field.name: default_value(field) for field in record.fields if field.has_default}
        fill = self._keep("fill_", filler(frozenset(field.name for field in record.fields), defaults))
        codes = [self._value(field.type, f"v[{field.name!r}]") for field in record.fields]
        lines = [line for code in codes for line in code.lines]
        whole = Code(lines, [piece for code in codes for piece in code.pieces])
        is_dict = [] if record.fields else [_unless("type(v) is dict")]
        return [*is_dict, f"if len(v) != {len(codes)}: v = {fill}(v)", *_returned(whole)]

    def _value(self, avro_type: Type, expression: str) -> Code:
        """Return the code for the value of an expression. Plain values are inlined, others call a function."""
        match avro_type:
            case Primitive(name=name, logical=None):
                return _primitive(name, expression, self._new("x"))
            case FixedType(size=size, logical=None):
                name = self._new("x")
                return Code(
                    [f"{name} = {expression}", _unless(f"type({name}) is bytes and len({name}) == {size}")], [name]
                )
            case EnumType(symbols=symbols):
                places = self._keep("symbols_", {symbol: varint[place] for place, symbol in enumerate(symbols)})
                return Code([], [f"{places}[{expression}]"])
            case _:
                return Code([], [f"{self._function(avro_type)}({expression})"])

    def _logical(self, avro_type: Primitive | FixedType, logical: Logical) -> Write:
        base = FixedType("", avro_type.size) if isinstance(avro_type, FixedType) else Primitive(avro_type.name)
        kind = "fixed" if isinstance(avro_type, FixedType) else avro_type.name
        prepare = LOGICAL_WRITERS[f"{kind}-{DECIMAL if logical.name == 'decimal' else logical.name}"]
        node = {"precision": logical.precision, "scale": logical.scale, "size": getattr(base, "size", None)}
        return _logical_writer(logical, lambda value: prepare(value, node), self.writer(base))

    def _union(self, union: UnionType) -> list[str]:
        """Generate a case for each Python type accepted by a single branch."""
        takers = Counter(kind for branch in union.branches for kind in _takes(branch))
        cases = []
        for place, branch in enumerate(union.branches):
            kinds = [kind.__name__ for kind in _usual(branch) if takers[kind] == 1]
            code = self._value(branch, "v")
            found = Code(code.lines, [repr(varint[place]), *code.pieces])
            cases += [f"if type(v) in ({', '.join(kinds)},):", *_indented(_returned(found))] if kinds else []
        return [*cases, "raise Unsure"]


def _logical_writer(logical: Logical, prepare: Callable[[Any], Any], write: Write) -> Write:
    def write_logical(value: object) -> bytes:
        if logical_misfit(value, logical):
            raise Unsure
        return write(prepare(value))

    return write_logical


def _primitive(name: str, expression: str, var: str) -> Code:
    pieces = [piece.format(x=var) for piece in _PIECES[name]]
    if name == "string":
        return Code([f"{var} = encode({expression})"], pieces)
    return Code([f"{var} = {expression}", _unless(_FITS[name].format(x=var))], pieces)


def _unless(condition: str) -> str:
    return f"if not ({condition}): raise Unsure"


def _returned(code: Code) -> list[str]:
    return [*code.lines, f"return join(({''.join(f'{piece}, ' for piece in code.pieces)}))"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _takes(branch: Type) -> tuple[type, ...]:
    """Return the Python types that fastavro may accept for a branch of a union, the usual type first."""
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


def _usual(branch: Type) -> tuple[type, ...]:
    """Return the Python types that the generated code writes for a branch."""
    is_double = isinstance(branch, Primitive) and branch.name == "double"
    return _takes(branch) if is_double else _takes(branch)[:1]


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
