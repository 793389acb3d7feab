"""A value written by fastavro, and which branch of a union it chooses for one."""

from __future__ import annotations

from io import BytesIO

import fastavro

from penstock.schemas.avro.model import Type, UnionType
from penstock.schemas.avro.prepared import prepare

WRITE_FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def write_plainly(value: object, root: Type) -> bytes:
    """Write a value; fastavro's own errors are `WRITE_FAILURES`."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, prepare(root).node, value, strict_allow_default=True)
    return stream.getvalue()


def chosen_branch(union: UnionType, value: object) -> int | None:
    """The place of the branch that fastavro chooses, found by writing the value; nothing if it refuses it."""
    try:
        return _first_long(write_plainly(value, union))
    except WRITE_FAILURES:
        return None


def _first_long(data: bytes) -> int:
    number = 0
    for place, byte in enumerate(data):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - a number's last byte has its high bit clear
            break
    return number >> 1
