"""Codec between records and messages. Caches schemas by id, checks records, and never trusts received bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from penstock.errors import RecordInvalid, RecordUndecodable, RegistryRefused, SchemaNotFound, Transient
from penstock.schemas.avro.binary import reader, writer
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import Primitive, Type
from penstock.schemas.registry.protocol import RegisteredSchema, SchemaRegistry
from penstock.schemas.schema import Schema
from penstock.schemas.wire import Framed, IdWidth, SchemaId, candidates, header, shown

Encode = Callable[[object], bytes]
Decode = Callable[[bytes], object]

_INT, _LONG, _UUID = IdWidth.INT.body, IdWidth.LONG.body, IdWidth.UUID.body
_FORGET_UNKNOWN_SECONDS = 10.0
_MAX_UNKNOWN = 10_000


class AvroCodec:
    """Encodes records prefixed with a schema id, and decodes messages by their schema id.

    A topic may mix ids of all three widths; `penstock.schemas.wire` explains how to distinguish them. With `reader`,
    every record is returned in the form of the reader schema, regardless of the writer's version.
    """

    def __init__(self, registry: SchemaRegistry, *, width: IdWidth = IdWidth.INT, reader: Schema | None = None) -> None:
        self._registry = registry
        self._width = width
        self._reader = reader
        self._by_header: dict[bytes, Decode] = {}
        self._unknown_until: dict[bytes, float] = {}

    def encoder(self, subject: str, schema: Schema, *, register: bool = True) -> Encode:
        """Return an encoder for records of the schema.

        The schema id is registered, or only looked up, once. The function raises RecordInvalid with the field and the
        value that does not fit.
        """
        resolve = self._registry.register if register else self._registry.lookup
        start = header(self._written_id(resolve(subject, schema)), self._width)
        return partial(_write_raw, start) if _is_raw(schema.type, self._width) else writer(schema.type, start)

    def decode(self, data: bytes) -> object:
        """Decode a message by its schema id.

        Raises RecordUndecodable for invalid bytes, SchemaNotFound for an id unknown to the registry, and the registry's
        own errors.
        """
        known = self._by_header.get(data[:_INT])
        if known is None:
            known = self._by_header.get(data[:_UUID]) or self._by_header.get(data[:_LONG])
        if known is None:
            return self._decode_closely(data)
        try:
            return known(data)
        except RecordUndecodable:
            # The first bytes of a 16-byte id may happen to be a 4-byte id that the registry knows.
            return self._decode_closely(data)

    def _written_id(self, registered: RegisteredSchema) -> SchemaId:
        if self._width is not IdWidth.UUID:
            return registered.schema_id
        fingerprint = registered.schema.fingerprint
        try:
            self._registry.by_id(fingerprint)
        except SchemaNotFound as error:
            raise RegistryRefused(
                f"the registry does not serve {registered.subject} by its fingerprint {fingerprint}",
                hint="16-byte ids need a registry that answers /schemas/id=<fingerprint>; use schema_ids int or long",
            ) from error
        return fingerprint

    def _decode_closely(self, data: bytes) -> object:
        """Try each possible id of the message, until the whole message decodes as a record of the id's schema."""
        unknown: list[Framed] = []
        failures: list[RecordUndecodable] = []
        for framed in candidates(data):
            try:
                decode = self._by_header.get(framed.header) or self._load(framed)
            except Transient:
                if failures:  # the likelier id is known, so the message is a damaged record of its schema
                    break
                raise
            if decode is None:
                unknown.append(framed)
                continue
            try:
                return decode(data)
            except RecordUndecodable as error:
                failures.append(_explained(error, framed, data))
        raise failures[0] if failures else _not_found(unknown, data)

    def _load(self, framed: Framed) -> Decode | None:
        if self._unknown_until.get(framed.header, 0.0) > time.monotonic():
            return None
        try:
            schema = self._registry.by_id(framed.schema_id)
        except SchemaNotFound:
            self._remember_unknown(framed)
            return None
        decode = self._decoder(schema, framed.width)
        self._by_header[framed.header] = decode
        return decode

    def _remember_unknown(self, framed: Framed) -> None:
        if len(self._unknown_until) >= _MAX_UNKNOWN:
            self._unknown_until.clear()
        self._unknown_until[framed.header] = time.monotonic() + _FORGET_UNKNOWN_SECONDS

    def _decoder(self, schema: Schema, width: IdWidth) -> Decode:
        if _is_raw(schema.type, width):
            return lambda data: data[width.body :]
        # Do not compare fingerprints, which ignore logical types.
        wanted = self._reader.type if self._reader and to_json(self._reader.type) != to_json(schema.type) else None
        return reader(schema.type, width.body, wanted)


def _is_raw(avro_type: Type, width: IdWidth) -> bool:
    """Whether a message is the id followed by raw bytes, as WhereHows wrote messages with the schema `bytes`."""
    is_bytes = isinstance(avro_type, Primitive) and avro_type.name == "bytes" and avro_type.logical is None
    return is_bytes and width is not IdWidth.INT


def _write_raw(start: bytes, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray):
        raise RecordInvalid(f"{value!r} is not bytes")
    return start + value


def _explained(error: RecordUndecodable, framed: Framed, data: bytes) -> RecordUndecodable:
    return RecordUndecodable(
        f"{error.message} [{framed}: {shown(data)}]",
        hint=error.hint,
        schema_id=framed.schema_id,
        width=framed.width.value,
    )


def _not_found(unknown: list[Framed], data: bytes) -> SchemaNotFound:
    names = " nor ".join(map(str, unknown)) or "a schema id of any width"
    return SchemaNotFound(
        f"the registry does not know {names}: {shown(data)}",
        hint="the message comes from another registry, or is no Avro; `penstock schemas list` shows what is known",
        schema_ids=[framed.schema_id for framed in unknown],
    )
