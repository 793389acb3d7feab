"""What a schema registry does for producers and consumers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.schemas.schema import Schema
from penstock.schemas.wire import SchemaId

Version = int | Literal["latest"]


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry keeps it: under a subject, with a version and an id."""

    subject: str
    version: int
    schema_id: SchemaId
    schema: Schema


class SchemaRegistry(Protocol):
    """Where schemas are kept; what an id means never changes, so answers by id may be kept forever.

    Every call raises SchemaNotFound for what is not there, RegistryUnavailable when nothing answers in time and
    RegistryRefused when what answers says no or is not a registry.
    """

    def by_id(self, schema_id: SchemaId) -> Schema:
        """The schema of a message's id: a number, or the fingerprint as 32 hexadecimal digits."""
        ...

    def by_version(self, subject: str, version: Version) -> RegisteredSchema:
        """A subject's given version, or its newest."""
        ...

    def register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Make the schema the subject's newest version, or find it there; SchemaIncompatible if the rule forbids it."""
        ...

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema under the subject, without registering it."""
        ...
