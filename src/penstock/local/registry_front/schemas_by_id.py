"""`GET /schemas/id=<id>`: the bare text of a schema, by number or fingerprint."""

from __future__ import annotations

import asyncio
import re

from penstock.errors import SchemaSyntaxError
from penstock.local.registry_front.apicurio import Apicurio
from penstock.local.registry_front.fingerprints import ContentId, Fingerprint, FingerprintIndex
from penstock.schemas.schema import Schema

_FINGERPRINT = re.compile(r"[0-9a-fA-F]{32}")
_NUMBER = re.compile(r"[0-9]{1,18}")


class SchemasById:
    """Schema lookup by message ids of 4, 8 or 16 bytes."""

    def __init__(self, apicurio: Apicurio) -> None:
        self._apicurio = apicurio
        self._index = FingerprintIndex(apicurio.newest_first, self._fingerprint)
        self.note_change = self._index.note_change

    async def text(self, schema_id: str) -> str | None:
        """Return the schema's text with references resolved, or None for an unknown id."""
        content_id = await self._content_id(schema_id)
        return None if content_id is None else await self._apicurio.schema(content_id)

    async def _content_id(self, schema_id: str) -> ContentId | None:
        if _FINGERPRINT.fullmatch(schema_id):
            return await self._index.find(Fingerprint(schema_id.lower()))
        return ContentId(int(schema_id)) if _NUMBER.fullmatch(schema_id) else None

    async def _fingerprint(self, content_id: ContentId) -> Fingerprint | None:
        text = await self._apicurio.schema(content_id)
        if text is None:
            return None
        try:
            return Fingerprint(await asyncio.to_thread(_fingerprint, text))
        except SchemaSyntaxError:
            return None


def _fingerprint(text: str) -> str:
    """Compute the fingerprint. Runs in a thread, because the time depends on the registered schema."""
    return Schema.from_text(text).fingerprint
