"""JSON lines, read lazily and decoded to keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

from penstock.errors import RecordInvalid, RecordTooLarge
from penstock.kafka.keys import KeyType
from penstock.schemas import Schema
from penstock.schemas.avro.model import Primitive
from penstock.schemas.from_json import from_json, parse_json

MAX_LINE_BYTES = 16 * 1024 * 1024


class Line(NamedTuple):
    """Input line. `whole` is False if the line exceeded the limit."""

    number: int
    text: bytes
    whole: bool


class Keyed(NamedTuple):
    """Key and value of a record."""

    key: object
    value: object


def read_lines(stream: IO[bytes], limit: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the non-empty lines. A line beyond the limit is truncated."""
    number = 0
    while text := stream.readline(limit + 1):
        number += 1
        whole = len(text) <= limit
        if not whole:
            _skip_rest_of_line(stream, text, limit)
        if text.strip():
            yield Line(number, text, whole)


class LineReader:
    """Decodes lines to records."""

    def __init__(self, schema: Schema, key_field: str | None, key_type: KeyType) -> None:
        self._type = schema.type
        self._key_field = key_field
        self._key_type = key_type

    def read(self, line: Line) -> Keyed:
        """Return the key and value of a line. Raise RecordError for an invalid line."""
        if not line.whole:
            raise RecordTooLarge(f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
        raw = parse_json(line.text)
        return Keyed(self._key(raw), from_json(raw, self._type))

    def _key(self, raw: object) -> object:
        if self._key_field is None:
            return None
        if not isinstance(raw, dict) or self._key_field not in raw:
            raise RecordInvalid(f"{self._key_field}: the field that is the key is missing")
        return from_json(raw[self._key_field], Primitive(self._key_type))


def _skip_rest_of_line(stream: IO[bytes], text: bytes, limit: int) -> None:
    while text and not text.endswith(b"\n"):
        text = stream.readline(limit)
