"""Client of Confluent's registry API, as implemented by Confluent, Karapace and Apicurio."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from penstock.errors import SchemaError
from penstock.schemas.registry.answers import json_of, shaped
from penstock.schemas.registry.by_id import fetch_by_id
from penstock.schemas.registry.http import Answer, RegistryHttp
from penstock.schemas.registry.protocol import RegisteredSchema, Version
from penstock.schemas.schema import Reference, Schema
from penstock.schemas.wire import SchemaId

Inside = tuple[tuple[str, int], ...]
"""Subjects and versions on the path of references to the current one."""

_MAX_REFERENCES = 500
_MAX_REFERENCE_DEPTH = 50


class ConfluentRegistry:
    """Schemas by subject and version, and by id. Schemas by id are cached."""

    def __init__(self, http: RegistryHttp) -> None:
        self._http = http
        self._by_id: dict[SchemaId, Schema] = {}

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of a number, or of a fingerprint if the registry serves `/schemas/id=`."""
        if schema_id not in self._by_id:
            self._by_id[schema_id] = self._fetch(schema_id)
        return self._by_id[schema_id]

    def by_version(self, subject: str, version: Version) -> RegisteredSchema:
        """Return a subject's given or newest version."""
        return _Resolution(self._http).version(subject, version)

    def register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Register the schema as the subject's newest version, or find the existing version."""
        answer = self._http.request("POST", f"{subject_path(subject)}/versions", json=schema_body(schema))
        json_of(answer, f"registering {subject}")
        return self.lookup(subject, schema)

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the schema under the subject."""
        answer = self._http.request("POST", subject_path(subject), json=schema_body(schema))
        found = json_of(answer, f"this schema under {subject}")
        with shaped(answer):
            return RegisteredSchema(subject, int(found["version"]), int(found["id"]), schema)

    def _fetch(self, schema_id: SchemaId) -> Schema:
        if isinstance(schema_id, str):
            return fetch_by_id(self._http, schema_id)
        return _Resolution(self._http).by_number(schema_id)


class _Resolution:
    """Fetches a schema and all references, each version once, within a single deadline."""

    def __init__(self, http: RegistryHttp) -> None:
        self._http = http
        self._deadline = http.deadline()
        self._known: dict[tuple[str, int], RegisteredSchema] = {}

    def by_number(self, schema_id: int) -> Schema:
        answer = self._http.request("GET", f"/schemas/ids/{schema_id}", deadline=self._deadline)
        return self._schema(answer, json_of(answer, f"schema id {schema_id}"), ())

    def version(self, subject: str, version: Version, inside: Inside = ()) -> RegisteredSchema:
        path = f"{subject_path(subject)}/versions/{version}"
        answer = self._http.request("GET", path, deadline=self._deadline)
        tried = f"the newest version of {subject}" if version == "latest" else f"version {version} of {subject}"
        found = json_of(answer, tried)
        schema = self._schema(answer, found, inside)
        with shaped(answer):
            return RegisteredSchema(str(found["subject"]), int(found["version"]), int(found["id"]), schema)

    def _schema(self, answer: Answer, found: Any, inside: Inside) -> Schema:  # noqa: ANN401 - JSON
        with shaped(answer):
            kind = found.get("schemaType") or "AVRO"
            text, references = str(found["schema"]), found.get("references") or []
            named = [(str(item["name"]), str(item["subject"]), int(item["version"])) for item in references]
        if kind != "AVRO":
            raise SchemaError(f"{answer.url} is a schema of type {kind}", hint="Penstock reads and writes Avro")
        return Schema.from_registry(text, [self._reference(*item, inside) for item in named])

    def _reference(self, name: str, subject: str, version: int, inside: Inside) -> Reference:
        key = (subject, version)
        if key in inside:
            raise SchemaError(f"version {version} of {subject} refers to itself")
        if key not in self._known:
            if len(self._known) >= _MAX_REFERENCES or len(inside) >= _MAX_REFERENCE_DEPTH:
                raise SchemaError(
                    f"the schema refers to more than {_MAX_REFERENCES} others, or over more than "
                    f"{_MAX_REFERENCE_DEPTH} steps",
                    hint="put types that are used together into one schema",
                )
            self._known[key] = self.version(subject, version, (*inside, key))
        return Reference(name, subject, version, self._known[key].schema)


def subject_path(subject: str) -> str:
    """Return the path of a subject, with special characters escaped."""
    return f"/subjects/{quote(subject, safe='')}"


def schema_body(schema: Schema) -> dict[str, object]:
    """Return a schema as a request body."""
    references = [{"name": item.name, "subject": item.subject, "version": item.version} for item in schema.references]
    return {"schema": schema.text, **({"references": references} if references else {})}
