"""Writing with fastavro, with the branches of unions named: fastavro's own search takes exponential time."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import fastavro

from penstock.schemas.avro.fits import Fits
from penstock.schemas.avro.model import ArrayType, MapType, RecordType, Type, UnionType, type_name
from penstock.schemas.avro.prepared import prepare

WRITE_FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

Value = Any


def write_plainly(value: object, root: Type) -> bytes:
    """Write a value. `WRITE_FAILURES` are fastavro's own errors."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, prepare(root).node, value, strict_allow_default=True)
    return stream.getvalue()


def with_branches(value: Value, avro_type: Type, checked: Fits) -> Value:
    """Return the value, with each union value as `(name, value)`. The value must fit."""
    match avro_type:
        case UnionType(branches):
            return _in_union(value, avro_type, branches, checked)
        case ArrayType(items):
            return [with_branches(item, items, checked) for item in value]
        case MapType(values):
            return {key: with_branches(item, values, checked) for key, item in value.items()}
        case RecordType(fields=fields) if isinstance(value, Mapping):
            present = (field for field in fields if field.name in value)
            return {field.name: with_branches(value[field.name], field.type, checked) for field in present}
        case _:
            return value


def _in_union(value: Value, union: UnionType, branches: tuple[Type, ...], checked: Fits) -> Value:
    if isinstance(value, tuple):
        name, inner = value
        branch = next(branch for branch in branches if type_name(branch) == name)
        return name, with_branches(inner, branch, checked)
    index = checked.branch(value, union)
    if index is None:
        raise ValueError("no branch of the union takes the value")
    return type_name(branches[index]), with_branches(value, branches[index], checked)
