"""Building blocks of generated writers: numbers, text, arrays and maps in Avro's binary encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.schemas.avro.model import LONG_RANGE

Write = Callable[[Any], bytes]

join = b"".join
encode = str.encode


class Unsure(ValueError):
    """The generated code does not support this kind of value. A complete check decides."""


class Varints(dict[int, bytes]):
    """Avro's encoding of integers: zig-zag, seven bits per byte. Small integers are precomputed."""

    def __missing__(self, number: int) -> bytes:
        """Encode a number that is not precomputed. Raise Unsure if it has more than 64 bits."""
        if number not in LONG_RANGE:
            raise Unsure
        rest = (number << 1) ^ (number >> 63)
        made = b""
        while rest >= _TWO_BYTES:
            made += _MORE[rest & 0x3FFF]
            rest >>= 14
        return made + _LAST[rest]


_TWO_BYTES = 1 << 14
_MORE = [bytes((rest & 0x7F | 0x80, rest >> 7 | 0x80)) for rest in range(_TWO_BYTES)]
_LAST = [bytes((rest,)) if rest < 128 else bytes((rest & 0x7F | 0x80, rest >> 7)) for rest in range(_TWO_BYTES)]  # noqa: PLR2004 - seven bits

varint = Varints()
varint.update((number, varint[number]) for number in range(-1024, 8192))


def array_of(write_item: Write) -> Write:
    """Return a writer of lists."""

    def write(items: list[Any]) -> bytes:
        if type(items) is not list:
            raise Unsure
        return join((varint[len(items)], *map(write_item, items), b"\0")) if items else b"\0"

    return write


def map_of(write_item: Write) -> Write:
    """Return a writer of dicts with text keys."""

    def write(items: dict[str, Any]) -> bytes:
        if type(items) is not dict:
            raise Unsure
        entries = [_text(key) + write_item(item) for key, item in items.items()]
        return join((varint[len(items)], *entries, b"\0")) if items else b"\0"

    return write


def _text(text: str) -> bytes:
    encoded = encode(text)
    return varint[len(encoded)] + encoded


def filler(names: frozenset[str], defaults: dict[str, object]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that adds missing fields. The function raises Unsure for unknown fields."""

    def fill(record: dict[str, Any]) -> dict[str, Any]:
        if not names.issuperset(record):
            raise Unsure
        return {**defaults, **record}

    return fill
