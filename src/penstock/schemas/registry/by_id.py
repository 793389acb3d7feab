"""Client of registries that only serve schemas by id: `GET <base>/schemas/id=<id>` returns the bare text."""

from __future__ import annotations

from penstock.errors import RegistryRefused, SchemaNotFound, SchemaSyntaxError
from penstock.schemas.registry.answers import not_a_registry, refusal
from penstock.schemas.registry.http import RegistryHttp
from penstock.schemas.registry.protocol import RegisteredSchema, Version
from penstock.schemas.schema import Schema
from penstock.schemas.wire import SchemaId

_OK = 200
_NOT_FOUND = 404


def fetch_by_id(http: RegistryHttp, schema_id: SchemaId) -> Schema:
    """Return the schema of a fingerprint or number, from `/schemas/id=`."""
    answer = http.request("GET", f"/schemas/id={schema_id}")
    if answer.status == _NOT_FOUND:
        raise SchemaNotFound(f"there is no schema with the id {schema_id} at {answer.url}")
    if answer.status != _OK:
        raise refusal(answer, f"schema id {schema_id}")
    try:
        return Schema.from_registry(answer.body.decode())
    except (UnicodeDecodeError, SchemaSyntaxError) as error:
        raise not_a_registry(answer) from error


class ByIdRegistry:
    """Reads schemas by id. Has no subjects, and cannot register schemas."""

    def __init__(self, http: RegistryHttp) -> None:
        self._http = http
        self._by_id: dict[SchemaId, Schema] = {}

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of a fingerprint or number. Schemas are cached."""
        if schema_id not in self._by_id:
            self._by_id[schema_id] = fetch_by_id(self._http, schema_id)
        return self._by_id[schema_id]

    def by_version(self, subject: str, version: Version) -> RegisteredSchema:
        """Raise RegistryRefused: there are no versions."""
        raise self._refused(f"version {version} of {subject}")

    def register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema by its fingerprint. A missing schema cannot be added."""
        return self.lookup(subject, schema)

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema by its fingerprint."""
        self.by_id(schema.fingerprint)
        return RegisteredSchema(subject, 1, schema.fingerprint, schema)

    def _refused(self, tried: str) -> RegistryRefused:
        return RegistryRefused(
            f"{tried}: the registry at {self._http.address} serves schemas by id only",
            hint="use a registry with Confluent's API: PENSTOCK_REGISTRY_API=confluent",
        )
