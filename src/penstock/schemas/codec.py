"""Records to messages and back: schema ids resolved once, records checked, bytes distrusted."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import RecordUndecodable, SchemaNotFound
from penstock.schemas.avro.binary import reader, writer
from penstock.schemas.registry.protocol import RegisteredSchema, SchemaRegistry
from penstock.schemas.schema import Schema
from penstock.schemas.wire import Framed, IdWidth, SchemaId, candidates, claims_schema, header, shown

__all__ = ["AvroCodec", "claims_schema"]

Encode = Callable[[object], bytes]
Decode = Callable[[bytes], object]


class AvroCodec:
    """Encodes records with a schema's id in front of them, and decodes messages by the id they carry.

    Messages with ids of all three widths may stand in one topic. With `reader`, every record is given in that
    schema's form, whichever version wrote it.
    """

    def __init__(self, registry: SchemaRegistry, *, width: IdWidth = IdWidth.INT, reader: Schema | None = None) -> None:
        self._registry = registry
        self._width = width
        self._reader = reader
        self._by_header: dict[bytes, Decode] = {}

    def encoder(self, subject: str, schema: Schema, *, register: bool = True) -> Encode:
        """A function that encodes records of this schema; its id is registered, or only looked up, once."""
        resolve = self._registry.register if register else self._registry.lookup
        schema_id = self._written_id(resolve(subject, schema))
        return writer(schema.type, header(schema_id, self._width))

    def decode(self, data: bytes) -> object:
        """The record in a message, by the schema id it carries; anything else is RecordUndecodable."""
        decode = self._by_header.get(data[:5]) or self._decoder_of(data)
        return decode(data)

    def _written_id(self, registered: RegisteredSchema) -> SchemaId:
        return registered.schema.fingerprint if self._width is IdWidth.UUID else registered.schema_id

    def _decoder_of(self, data: bytes) -> Decode:
        tried: list[Framed] = []
        for framed in candidates(data):
            decode = self._by_header.get(framed.header) or self._load(framed)
            if decode:
                return decode
            tried.append(framed)
        names = " or ".join(map(str, tried))
        raise RecordUndecodable(f"the registry does not know {names}: {shown(data)}")

    def _load(self, framed: Framed) -> Decode | None:
        try:
            schema = self._registry.by_id(framed.schema_id)
        except SchemaNotFound:
            return None
        decode = reader(schema.type, framed.width.body, self._reader.type if self._reader else None)
        self._by_header[framed.header] = decode
        return decode
