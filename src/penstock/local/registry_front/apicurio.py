"""Requests of the front itself to Apicurio: order of registration, schemas, and compatibility rules of subjects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
from starlette.exceptions import HTTPException

from penstock.errors import SchemaNotFound
from penstock.local.registry_front.fingerprints import ContentId, Entry
from penstock.local.registry_front.upstream import told_as_http

CONFLUENT = "/apis/ccompat/v7"
_OWN = "/apis/registry/v3"
_PAGE = 500
_EXPECTED = (HTTPStatus.NOT_FOUND,)


class Apicurio:
    """Client for the parts of Apicurio's API needed by the front."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def newest_first(self) -> AsyncIterator[Entry]:
        """Yield every version of every Avro subject, newest registration first, including soft-deleted versions."""
        offset = 0
        query: dict[str, str | int] = {"artifactType": "AVRO", "orderby": "globalId", "order": "desc", "limit": _PAGE}
        while True:
            page = await self._get(f"{_OWN}/search/versions", **query, offset=offset)
            versions = page["versions"] if page else []
            for version in versions:
                yield Entry(version["globalId"], ContentId(version["contentId"]))
            offset += _PAGE
            if len(versions) < _PAGE:
                return

    async def schema(self, content_id: ContentId) -> str | None:
        """Return the schema's text with references resolved, or None for an unknown id.

        Apicurio also stores unparseable schemas and fails to resolve them. Such schemas are returned unchanged.
        """
        path = f"{CONFLUENT}/schemas/ids/{content_id}/schema"
        answer = await self._ask("GET", path, {"format": "resolved"}, (*_EXPECTED, HTTPStatus.INTERNAL_SERVER_ERROR))
        if answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            answer = await self._ask("GET", path)
        return None if answer.status_code == HTTPStatus.NOT_FOUND else answer.text

    async def versions(self, subject: str) -> list[int]:
        """Return a subject's version numbers. An unknown subject has none."""
        return await self._get(f"{_subject(subject)}/versions") or []

    async def version(self, subject: str, version: str | int) -> dict[str, Any]:
        """Return one version of a subject, with references resolved. Raise SchemaNotFound for a missing version."""
        found = await self._get(f"{_subject(subject)}/versions/{version}", format="resolved")
        if found is None:
            raise SchemaNotFound(f"the subject {subject} has no version {version}")
        return dict(found)

    async def global_level(self) -> str:
        """Return the global compatibility level, the default of subjects."""
        return str((await self._get(f"{CONFLUENT}/config"))["compatibilityLevel"])

    async def subject_level(self, subject: str) -> str | None:
        """Return the subject's own compatibility level, or None if not set."""
        rule = await self._get(_rule(subject))
        return rule["config"] if rule else None

    async def unset_subject_level(self, subject: str) -> None:
        """Remove the subject's own level, so that the global level applies."""
        await self._ask("DELETE", _rule(subject))

    async def _get(self, path: str, **query: str | int) -> Any:  # noqa: ANN401 - JSON
        answer = await self._ask("GET", path, query)
        return None if answer.status_code == HTTPStatus.NOT_FOUND else answer.json()

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None = None,
        expected: Collection[int] = _EXPECTED,
    ) -> httpx.Response:
        with told_as_http():
            answer = await self._client.request(method, path, params=query)
        if answer.is_error and answer.status_code not in expected:
            raise HTTPException(502, f"the registry behind this address failed with HTTP {answer.status_code}")
        return answer


def _subject(subject: str) -> str:
    return f"{CONFLUENT}/subjects/{quote(subject, safe='')}"


def _rule(subject: str) -> str:
    return f"{_OWN}/groups/default/artifacts/{quote(subject, safe='')}/rules/COMPATIBILITY"
