"""Protocol of schema registries for producers and consumers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.schemas.schema import Schema
from penstock.schemas.wire import SchemaId

Version = int | Literal["latest"]


@dataclass(frozen=True)
class RegisteredSchema:
    """Registered schema, with subject, version and id."""

    subject: str
    version: int
    schema_id: SchemaId
    schema: Schema


class SchemaRegistry(Protocol):
    """Store of schemas. An id's schema never changes and can be cached forever.

    Every call raises SchemaNotFound for a missing schema, RegistryUnavailable if no server answers in time, and
    RegistryRefused if the server refuses or is not a registry.
    """

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of a message's id: a number, or the fingerprint as 32 hexadecimal digits."""
        ...

    def by_version(self, subject: str, version: Version) -> RegisteredSchema:
        """Return a subject's given or newest version."""
        ...

    def register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Register the schema as the newest version, or find the existing version.

        Raise SchemaIncompatible if the compatibility rule forbids the schema.
        """
        ...

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema under the subject, without registering it."""
        ...
