"""Administration of a registry with Confluent's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from penstock.config import Settings
from penstock.errors import SchemaNotFound, UsageError
from penstock.schemas.evolution import Compatibility
from penstock.schemas.registry.answers import json_of, not_a_registry, shaped
from penstock.schemas.registry.confluent import ConfluentRegistry, schema_body, subject_path
from penstock.schemas.registry.http import Answer, RegistryHttp
from penstock.schemas.registry.protocol import RegisteredSchema
from penstock.schemas.schema import Reference, Schema

_PERMANENT = {"permanent": "true"}


class RegistryAdmin:
    """Lists, checks and deletes schemas. `schemas` is the producers' client, on a shared connection."""

    def __init__(self, settings: Settings) -> None:
        if settings.registry_api != "confluent":
            raise UsageError(
                f"a registry with the API {settings.registry_api} serves schemas by id only",
                hint="name one with Confluent's API: PENSTOCK_REGISTRY_API=confluent",
            )
        self._http = RegistryHttp(settings)
        self.schemas = ConfluentRegistry(self._http)

    def subjects(self) -> list[str]:
        """Return the names of all subjects, sorted."""
        answer = self._http.request("GET", "/subjects")
        return sorted(map(str, _listed(answer, "the subjects")))

    def versions(self, subject: str) -> list[int]:
        """Return a subject's version numbers, oldest first; empty if the subject does not exist."""
        answer = self._http.request("GET", f"{subject_path(subject)}/versions")
        try:
            return sorted(int(version) for version in _listed(answer, f"the versions of {subject}"))
        except SchemaNotFound:
            return []

    def history(self, subject: str) -> list[RegisteredSchema]:
        """Return every version of a subject, oldest first."""
        return [self.schemas.by_version(subject, version) for version in self.versions(subject)]

    def compatibility(self, subject: str) -> Compatibility:
        """Return the compatibility rule of a subject: its own, or else the registry's default."""
        path = f"/config/{quote(subject, safe='')}"
        answer = self._http.request("GET", path, params={"defaultToGlobal": "true"})
        if answer.status == 404:  # noqa: PLR2004 - from registries that ignore the parameter, if the subject has no level
            answer = self._http.request("GET", "/config")
        found = json_of(answer, f"the compatibility of {subject}")
        with shaped(answer):
            return Compatibility(found["compatibilityLevel"])

    def set_compatibility(self, subject: str, level: Compatibility) -> None:
        """Set a subject's own compatibility rule."""
        path = f"/config/{quote(subject, safe='')}"
        json_of(self._http.request("PUT", path, json={"compatibility": level.value}), f"the compatibility of {subject}")

    def accepts(self, subject: str, schema: Schema) -> bool:
        """Return whether the registry would accept the schema as the subject's next version."""
        path = f"/compatibility{subject_path(subject)}/versions"
        answer = self._http.request("POST", path, json=schema_body(schema))
        if answer.status == 404:  # noqa: PLR2004 - Karapace compares with one version at a time
            answer = self._http.request("POST", f"{path}/latest", json=schema_body(schema))
        found = json_of(answer, f"the compatibility of this schema with {subject}")
        if not isinstance(found, dict) or not isinstance(found.get("is_compatible"), bool):
            raise not_a_registry(answer)
        return bool(found["is_compatible"])

    def delete(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject and return their numbers.

        Ids in messages still resolve, unless the deletion is permanent.
        """
        deleted = self._delete(subject_path(subject), f"deleting {subject}", permanent=permanent)
        return [int(version) for version in deleted] if isinstance(deleted, list) else []

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Delete one version of a subject."""
        path = f"{subject_path(subject)}/versions/{version}"
        self._delete(path, f"deleting version {version} of {subject}", permanent=permanent)

    def references(self, named: Sequence[str]) -> list[Reference]:
        """Parse references written as `name=subject:version`, and fetch their schemas."""
        return [self._reference(text) for text in named]

    def _reference(self, text: str) -> Reference:
        name, _, place = text.partition("=")
        subject, _, version = place.rpartition(":")
        if not (name and subject and version.isdigit()):
            raise UsageError(f"{text!r} is not a reference", hint="write name=subject:version: Address=address-value:1")
        return Reference(name, subject, int(version), self.schemas.by_version(subject, int(version)).schema)

    def _delete(self, path: str, tried: str, *, permanent: bool) -> object:
        answer = self._http.request("DELETE", path)
        if permanent and answer.status in {200, 404}:
            answer = self._http.request("DELETE", path, params=_PERMANENT)
        return json_of(answer, tried)


def _listed(answer: Answer, tried: str) -> list[Any]:
    found = json_of(answer, tried)
    if not isinstance(found, list):
        raise not_a_registry(answer)
    return found
