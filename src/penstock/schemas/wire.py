"""The wire format: a zero byte, the schema's id in 4, 8 or 16 bytes, then the record in Avro's binary form.

| width | bytes | id                                        | written by                        |
|-------|-------|-------------------------------------------|-----------------------------------|
| INT   | 4     | the registry's number, big-endian         | Confluent's serializers           |
| LONG  | 8     | the registry's number, big-endian         | WhereHows                         |
| UUID  | 16    | MD5 of the schema's parsing canonical form | WhereHows, Gobblin                |

All three may stand side by side in one topic. `candidates` gives the ids that a message may carry, the likely
one first: registries count from 1, so four zero bytes can only begin a LONG; any other four bytes are an INT if
the registry knows that number, and otherwise the beginning of a UUID. The first candidate whose schema the registry
knows, and under which the whole message reads as one record, is the right one.

If the schema is Avro's `bytes`, then after a LONG or UUID the bytes stand as they are, without their length: WhereHows
wrote them so. After an INT they are Avro like everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from penstock.errors import RecordUndecodable, UsageError

MAGIC = 0
SchemaId = int | str

_SHOWN_BYTES = 24


class IdWidth(Enum):
    """How many bytes a schema id takes in a message; the values are those of the setting `schema_ids`."""

    INT = "int"
    LONG = "long"
    UUID = "uuid"

    @property
    def size(self) -> int:
        """The id's bytes."""
        return _SIZES[self]

    @property
    def body(self) -> int:
        """Where the record begins, after the magic byte and the id."""
        return 1 + _SIZES[self]


_SIZES = {IdWidth.INT: 4, IdWidth.LONG: 8, IdWidth.UUID: 16}
_ZERO_INT = bytes(5)
_SHORTEST = len(_ZERO_INT)


class Framed(NamedTuple):
    """One way to read a message's first bytes."""

    width: IdWidth
    schema_id: SchemaId

    @property
    def header(self) -> bytes:
        """The bytes that stand before the record."""
        return header(self.schema_id, self.width)

    def __str__(self) -> str:
        """Render as `schema id 17 (4 bytes)`."""
        return f"schema id {self.schema_id} ({self.width.size} bytes)"


def header(schema_id: SchemaId, width: IdWidth) -> bytes:
    """The magic byte and the id in the given width."""
    number = _id_bytes(schema_id, width)
    if number is None:
        raise UsageError(
            f"the schema id {schema_id!r} does not fit the width {width.value} ({width.size} bytes)",
            hint="a number fits int and long, 32 hexadecimal digits fit uuid; see the setting schema_ids",
        )
    return bytes((MAGIC,)) + number


def _id_bytes(schema_id: SchemaId, width: IdWidth) -> bytes | None:
    is_uuid = width is IdWidth.UUID
    try:
        if isinstance(schema_id, str):
            number = bytes.fromhex(schema_id)
            return number if is_uuid and len(number) == width.size else None
        return None if is_uuid else schema_id.to_bytes(width.size, "big", signed=True)
    except (ValueError, OverflowError):
        return None


def claims_schema(data: bytes) -> bool:
    """Whether the bytes begin like a message with a schema: a zero byte, and room for an id."""
    return len(data) >= _SHORTEST and data[0] == MAGIC


def candidates(data: bytes) -> Iterator[Framed]:
    """The ids that a message may carry, the likely one first; refuses bytes that carry none."""
    if not claims_schema(data):
        raise RecordUndecodable(
            f"{_why_no_schema(data)}: {shown(data)}",
            hint="data without a schema is read as it is: as bytes, text or JSON",
        )
    if data[:5] != _ZERO_INT:
        yield Framed(IdWidth.INT, int.from_bytes(data[1:5], "big", signed=True))
    elif len(data) >= IdWidth.LONG.body:
        yield Framed(IdWidth.LONG, int.from_bytes(data[1:9], "big", signed=True))
    if len(data) >= IdWidth.UUID.body:
        yield Framed(IdWidth.UUID, data[1:17].hex())


def shown(data: bytes) -> str:
    """The first bytes in hexadecimal, as error messages show them."""
    more = "..." if len(data) > _SHOWN_BYTES else ""
    return f"{data[:_SHOWN_BYTES].hex(' ')}{more} ({len(data)} bytes)"


def _why_no_schema(data: bytes) -> str:
    if not data:
        return "the message is empty, so it carries no schema id"
    if data[0] != MAGIC:
        return f"the message begins with byte 0x{data[0]:02x}, not with 0x00 and a schema id"
    return "the message is too short to carry a schema id"
