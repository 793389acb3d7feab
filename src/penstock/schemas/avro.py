"""fastavro, wrapped: parsing, writing and reading one datum, with its errors turned into ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any, Protocol

import fastavro
from fastavro._read import ReadError, _read_data  # type: ignore[attr-defined]
from fastavro._write import write_data  # type: ignore[attr-defined]
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException, UnknownType, to_parsing_canonical_form

from penstock.errors import RecordInvalid, RecordUndecodable, SchemaSyntaxError

AvroType = str | list[Any] | dict[str, Any]
NamedTypes = dict[str, dict[str, Any]]

_WRITE_OPTIONS = {"strict": False, "strict_allow_default": True, "disable_tuple_notation": True}
_PAD = b"\0"
_WRITE_FAILURES = (ValueError, TypeError, LookupError, OverflowError, AttributeError, RecursionError)
_READ_FAILURES = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    SchemaResolutionError,
    StopIteration,
    TypeError,
    ValueError,
    ReadError,
)


def parse(text: str, named: NamedTypes) -> AvroType:
    """Parse a schema's text; named types found in it are added to `named`."""
    try:
        parsed: AvroType = fastavro.parse_schema(json.loads(text), named, _force=True)
    except (json.JSONDecodeError, SchemaParseException, UnknownType, KeyError, TypeError) as error:
        raise SchemaSyntaxError(str(error)) from error
    return parsed


def fingerprint(parsed: AvroType) -> str:
    """The MD5 of the parsing canonical form, as 32 hexadecimal digits."""
    return str(fastavro.schema.fingerprint(to_parsing_canonical_form(parsed), "MD5"))


class Parsed(Protocol):
    """A schema with the named types it uses."""

    @property
    def parsed(self) -> AvroType:
        """The schema as fastavro parsed it."""

    @property
    def named(self) -> NamedTypes:
        """Every named type it uses, by full name."""


def writer(schema: Parsed, header: bytes) -> Callable[[object], bytes]:
    """A function that writes the header and one datum."""
    parsed, named = schema.parsed, schema.named

    def write(datum: object) -> bytes:
        buffer = bytearray(header)
        try:
            write_data(buffer, datum, parsed, named, "", _WRITE_OPTIONS)
        except _WRITE_FAILURES as error:
            raise RecordInvalid(str(error)) from error
        return bytes(buffer)

    return write


def reader(schema: Parsed, offset: int, wanted: Parsed | None = None) -> Callable[[bytes], object]:
    """A function that reads the one datum that follows `offset`, all of it and no more."""
    parsed, reads_as = schema.parsed, wanted.parsed if wanted else None
    names = {"writer": schema.named, "reader": wanted.named if wanted else {}}
    options: dict[str, Any] = {}

    def read(data: bytes) -> object:
        stream = BytesIO(data + _PAD)
        stream.seek(offset)
        try:
            value: object = _read_data(stream, parsed, names, reads_as, options)
        except _READ_FAILURES as error:
            raise RecordUndecodable(str(error)) from error
        if stream.tell() != len(data):
            raise RecordUndecodable("the message is longer or shorter than its schema says")
        return value

    return read
