"""Which branch of a union fastavro writes for a value."""

from __future__ import annotations

from penstock.schemas.avro.fast import WRITE_FAILURES, WRITE_OPTIONS, write_data
from penstock.schemas.avro.model import UnionType
from penstock.schemas.avro.prepared import prepare


def chosen_branch(union: UnionType, value: object) -> int | None:
    """The branch's place in the union, found by writing the value; nothing if fastavro refuses it."""
    buffer = bytearray()
    try:
        write_data(buffer, value, *prepare(union), "", WRITE_OPTIONS)
    except WRITE_FAILURES:
        return None
    return _first_long(buffer)


def _first_long(buffer: bytearray) -> int:
    number = 0
    for place, byte in enumerate(buffer):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - a varint's last byte has its high bit clear
            break
    return number >> 1
