"""Reasons for incompatible schemas. Apicurio reports only the incompatibility, or names a field."""

from __future__ import annotations

import asyncio

import msgspec

from penstock.errors import SchemaError
from penstock.local.registry_front.apicurio import Apicurio
from penstock.schemas import Reference, RegisteredSchema, Schema
from penstock.schemas.evolution import Compatibility, Reason, reasons_against

_MAX_REFERENCES = 500


class _Named(msgspec.Struct):
    name: str
    subject: str
    version: int


class _Body(msgspec.Struct):
    schema: str
    references: list[_Named] = []


class Reasons:
    """Finds the reasons and formats them like Confluent's registry."""

    def __init__(self, apicurio: Apicurio) -> None:
        self._apicurio = apicurio

    async def against(self, subject: str, body: bytes, version: str = "") -> list[str] | None:
        """Return all reasons against the schema in a request body.

        The schema is compared with the given version, otherwise with the versions that the level covers. Return None if
        the schema is invalid or not Avro.
        """
        level = await self._apicurio.subject_level(subject) or await self._apicurio.global_level()
        versions = [version] if version else await self._apicurio.versions(subject)
        try:
            new = await self._schema(msgspec.json.decode(body, type=_Body))
            old = [await self._registered(subject, each) for each in versions]
            # Parsing and comparing time depends on the client's schema, so both run off the event loop.
            found = await asyncio.to_thread(reasons_against, new, old, Compatibility(level))
        except (msgspec.DecodeError, SchemaError):
            return None
        return [_worded(reason) for reason in found]

    async def _schema(self, body: _Body) -> Schema:
        if len(body.references) > _MAX_REFERENCES:
            raise SchemaError(f"the schema refers to more than {_MAX_REFERENCES} others")
        references = [
            Reference(
                named.name,
                named.subject,
                named.version,
                (await self._registered(named.subject, named.version)).schema,
            )
            for named in body.references
        ]
        return await asyncio.to_thread(Schema.from_text, body.schema, references)

    async def _registered(self, subject: str, version: str | int) -> RegisteredSchema:
        found = await self._apicurio.version(subject, version)
        schema = await asyncio.to_thread(Schema.from_text, found["schema"])
        return RegisteredSchema(subject, found["version"], found["id"], schema)


def _worded(reason: Reason) -> str:
    wrong = reason.misreading
    described = f"{wrong.message}, at path {wrong.place.pointer or '/'}; {reason.direction}"
    return f"{{errorType:'{wrong.kind.name}', description:'{described}', additionalInfo:'{wrong.place.field}'}}"
