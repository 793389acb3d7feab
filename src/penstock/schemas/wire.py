"""Wire format: a zero byte, the schema id in 4, 8 or 16 bytes, and the record in Avro's binary encoding.

| width | bytes | id                                        | written by                        |
|-------|-------|-------------------------------------------|-----------------------------------|
| INT   | 4     | the registry's number, big-endian         | Confluent's serializers           |
| LONG  | 8     | the registry's number, big-endian         | WhereHows                         |
| UUID  | 16    | MD5 of the schema's parsing canonical form | WhereHows, Gobblin                |

A topic may mix all three. `candidates` returns the possible ids of a message, the likeliest first. Registries count
from 1, so four zero bytes can only begin a LONG. Any other four bytes are an INT if the registry knows the number, and
otherwise the beginning of a UUID. The right candidate is the first with a known schema under which the whole message
decodes as a single record.

If the schema is Avro's `bytes`, the raw bytes follow a LONG or UUID without a length prefix, as in WhereHows. After an
INT, the bytes are encoded like any other Avro value.
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
    """Width of a schema id in a message. The values are those of the setting `schema_ids`."""

    INT = "int"
    LONG = "long"
    UUID = "uuid"

    @property
    def size(self) -> int:
        """Return the id's size in bytes."""
        return _SIZES[self]

    @property
    def body(self) -> int:
        """Return the offset of the record, after the magic byte and the id."""
        return 1 + _SIZES[self]


_SIZES = {IdWidth.INT: 4, IdWidth.LONG: 8, IdWidth.UUID: 16}
_ZERO_INT = bytes(5)
_SHORTEST = len(_ZERO_INT)


class Framed(NamedTuple):
    """Possible interpretation of a message's first bytes."""

    width: IdWidth
    schema_id: SchemaId

    @property
    def header(self) -> bytes:
        """Return the bytes before the record."""
        return header(self.schema_id, self.width)

    def __str__(self) -> str:
        """Render as `schema id 17 (4 bytes)`."""
        return f"schema id {self.schema_id} ({self.width.size} bytes)"


def header(schema_id: SchemaId, width: IdWidth) -> bytes:
    """Return the magic byte and the id in the given width."""
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
    """Whether the bytes begin like a message with a schema: a zero byte, and enough bytes for an id."""
    return len(data) >= _SHORTEST and data[0] == MAGIC


def candidates(data: bytes) -> Iterator[Framed]:
    """Yield the possible ids of a message, the likeliest first. Raise RecordUndecodable if there is none."""
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
    """Return the first bytes in hexadecimal, for error messages."""
    more = "..." if len(data) > _SHOWN_BYTES else ""
    return f"{data[:_SHOWN_BYTES].hex(' ')}{more} ({len(data)} bytes)"


def _why_no_schema(data: bytes) -> str:
    if not data:
        return "the message is empty, so it carries no schema id"
    if data[0] != MAGIC:
        return f"the message begins with byte 0x{data[0]:02x}, not with 0x00 and a schema id"
    return "the message is too short to carry a schema id"
