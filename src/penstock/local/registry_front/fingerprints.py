"""Lookup of schemas by fingerprint, for which Apicurio has no index."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, NewType

ContentId = NewType("ContentId", int)
Fingerprint = NewType("Fingerprint", str)


class Entry(NamedTuple):
    """Version of a subject: position in the order of registration, and schema id."""

    place: int
    content_id: ContentId


class FingerprintIndex:
    """Index from fingerprints to schema ids. Reads only versions registered since the last read.

    A miss triggers a read: immediately after `note_change`, otherwise at most once per `interval` seconds.
    If several schemas share a fingerprint, the index always returns the first registered schema.
    """

    def __init__(
        self,
        newest_first: Callable[[], AsyncIterator[Entry]],
        fingerprint_of: Callable[[ContentId], Awaitable[Fingerprint | None]],
        *,
        interval: float = 5.0,
    ) -> None:
        self._newest_first = newest_first
        self._fingerprint_of = fingerprint_of
        self._interval = interval
        self._found: dict[Fingerprint, ContentId] = {}
        self._read_up_to = -1
        self._changes = 0
        self._changes_read = -1
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    def note_change(self) -> None:
        """Note that a schema may have been registered."""
        self._changes += 1

    async def find(self, fingerprint: Fingerprint) -> ContentId | None:
        """Return the schema's id, or None if no schema has this fingerprint."""
        if fingerprint not in self._found:
            async with self._reading:
                if fingerprint not in self._found and self._is_due():
                    await self._read()
        return self._found.get(fingerprint)

    def _is_due(self) -> bool:
        return self._changes != self._changes_read or time.monotonic() - self._read_at >= self._interval

    async def _read(self) -> None:
        changes = self._changes
        entries = [entry async for entry in self._unread()]
        for content_id in sorted({entry.content_id for entry in entries} - set(self._found.values())):
            fingerprint = await self._fingerprint_of(content_id)
            if fingerprint is not None:
                self._found.setdefault(fingerprint, content_id)
        self._read_up_to = max((entry.place for entry in entries), default=self._read_up_to)
        self._changes_read, self._read_at = changes, time.monotonic()

    async def _unread(self) -> AsyncIterator[Entry]:
        async for entry in self._newest_first():
            if entry.place <= self._read_up_to:
                return
            yield entry
