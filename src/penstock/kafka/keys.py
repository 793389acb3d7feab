"""Keys in Kafka's standard encodings, byte for byte those of the Java client's serializers.

| key_type | Python | bytes                       | Java                |
|----------|--------|-----------------------------|---------------------|
| string   | str    | UTF-8                       | StringSerializer    |
| int      | int    | 4, big-endian, signed       | IntegerSerializer   |
| long     | int    | 8, big-endian, signed       | LongSerializer      |
| double   | float  | 8, big-endian, IEEE 754     | DoubleSerializer    |
| bytes    | bytes  | unchanged                   | ByteArraySerializer |
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812 - the module spells its exception in lower case
from typing import Any, Literal, NamedTuple, get_args

from penstock.errors import RecordInvalid, RecordUndecodable, UsageError

KeyType = Literal["string", "int", "long", "double", "bytes"]


class Serde(NamedTuple):
    """Encoder of objects to bytes, and the matching decoder."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], object]


def key_serde(key_type: KeyType) -> Serde:
    """Return the serde of a key type."""
    if key_type not in _SERDES:
        raise UsageError(f"{key_type!r} is not a type of key", hint=f"choose one of {', '.join(get_args(KeyType))}")
    return _SERDES[key_type]


def _encode_string(key: object) -> bytes:
    if not isinstance(key, str):
        raise _wrong(key, "string")
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise _wrong(key, "string") from None


def _decode_string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RecordUndecodable(f"key: {data!r} is not UTF-8", hint="read it with key_type='bytes'") from error


def _encode_bytes(key: object) -> bytes:
    if not isinstance(key, bytes):
        raise _wrong(key, "bytes")
    return key


def _number(key_type: KeyType, layout: Struct, kind: type) -> Serde:
    def encode(key: object) -> bytes:
        if isinstance(key, bool) or not isinstance(key, kind | int):
            raise _wrong(key, key_type)
        try:
            return layout.pack(key)
        except (StructError, OverflowError):
            raise RecordInvalid(f"key: {key!r} is out of range for {key_type}") from None

    def decode(data: bytes) -> object:
        if len(data) != layout.size:
            raise RecordUndecodable(
                f"key: {len(data)} bytes are not a {key_type}, which has {layout.size}",
                hint="read it with key_type='bytes'",
            )
        number: object = layout.unpack(data)[0]
        return number

    return Serde(encode, decode)


def _wrong(key: object, key_type: KeyType) -> RecordInvalid:
    return RecordInvalid(f"key: {key!r} is not {key_type}", hint="key_type (--key-type) says what keys are")


_SERDES: dict[str, Serde] = {
    "string": Serde(_encode_string, _decode_string),
    "int": _number("int", Struct(">i"), int),
    "long": _number("long", Struct(">q"), int),
    "double": _number("double", Struct(">d"), float),
    "bytes": Serde(_encode_bytes, lambda data: data),
}
