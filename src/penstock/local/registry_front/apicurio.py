"""What the front asks Apicurio for itself: the order of registration, schemas, and rules of subjects."""

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
    """Apicurio's own API, as far as the front needs it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def newest_first(self) -> AsyncIterator[Entry]:
        """Every version of every Avro subject, the one registered last first; soft-deleted ones too."""
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
        """The schema's text with its references written out, or None if there is no such id.

        Apicurio keeps schemas that it cannot parse, and fails to resolve them; they are given as they are.
        """
        path = f"{CONFLUENT}/schemas/ids/{content_id}/schema"
        answer = await self._ask("GET", path, {"format": "resolved"}, (*_EXPECTED, HTTPStatus.INTERNAL_SERVER_ERROR))
        if answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            answer = await self._ask("GET", path)
        return None if answer.status_code == HTTPStatus.NOT_FOUND else answer.text

    async def versions(self, subject: str) -> list[int]:
        """The numbers of a subject's versions; none if there is no such subject."""
        return await self._get(f"{_subject(subject)}/versions") or []

    async def version(self, subject: str, version: str | int) -> dict[str, Any]:
        """One version of a subject, its schema's references written out; SchemaNotFound if it is not there."""
        found = await self._get(f"{_subject(subject)}/versions/{version}", format="resolved")
        if found is None:
            raise SchemaNotFound(f"the subject {subject} has no version {version}")
        return dict(found)

    async def global_level(self) -> str:
        """The compatibility level of subjects that have none of their own."""
        return str((await self._get(f"{CONFLUENT}/config"))["compatibilityLevel"])

    async def subject_level(self, subject: str) -> str | None:
        """The subject's own compatibility level, if one was set."""
        rule = await self._get(_rule(subject))
        return rule["config"] if rule else None

    async def unset_subject_level(self, subject: str) -> None:
        """Let the subject follow the global level again."""
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
