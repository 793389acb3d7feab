"""In-memory registry for tests and experiments."""

from __future__ import annotations

from penstock.errors import SchemaNotFound
from penstock.schemas.registry.protocol import RegisteredSchema, Version
from penstock.schemas.schema import Schema
from penstock.schemas.wire import SchemaId


class MemoryRegistry:
    """Stores schemas like a real registry (ids from 1, a single id per schema), without compatibility checks."""

    def __init__(self) -> None:
        self._ids: dict[Schema, int] = {}
        self._subjects: dict[str, list[RegisteredSchema]] = {}

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this number or fingerprint."""
        for schema, number in self._ids.items():
            if schema_id in {number, schema.fingerprint}:
                return schema
        raise SchemaNotFound(f"there is no schema with the id {schema_id}")

    def by_version(self, subject: str, version: Version) -> RegisteredSchema:
        """Return a subject's given or newest version."""
        versions = self._subjects.get(subject, [])
        wanted = len(versions) if version == "latest" else version
        for registered in versions:
            if registered.version == wanted:
                return registered
        raise SchemaNotFound(f"the subject {subject} has no version {version}")

    def register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Add the schema as the subject's newest version, unless the subject already has the schema."""
        versions = self._subjects.setdefault(subject, [])
        for registered in versions:
            if registered.schema == schema:
                return registered
        number = self._ids.setdefault(schema, len(self._ids) + 1)
        versions.append(RegisteredSchema(subject, len(versions) + 1, number, schema))
        return versions[-1]

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema under the subject."""
        for registered in self._subjects.get(subject, []):
            if registered.schema == schema:
                return registered
        raise SchemaNotFound(f"the subject {subject} does not have this schema")
