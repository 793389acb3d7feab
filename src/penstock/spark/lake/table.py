"""Paths of a lake table: the files, and Penstock's notes about the table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import UsageError

INTERNAL = "_penstock"
"""The directory next to the tables for notes and unfinished files; readers of a table ignore this directory."""

SERVER_NOTE = "server.json"
"""File in the notes of a mirror or history: the database server that the stored positions belong to."""

DEFAULT_TARGET_BYTES = 128 * 1024 * 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(/[A-Za-z0-9][A-Za-z0-9_.\-]*)*")


@dataclass(frozen=True)
class LakeTable:
    """Table by name below the lake (`events`, `shop/orders`), with its partition columns."""

    lake: str
    name: str
    partition_by: tuple[str, ...] = ()
    target_bytes: int = DEFAULT_TARGET_BYTES

    def __post_init__(self) -> None:
        """Reject names that lead outside the lake."""
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot name a table",
                hint="use letters, digits, '_', '-' and '.', beginning with a letter or digit; '/' makes folders",
            )

    @property
    def path(self) -> str:
        """The directory that readers read."""
        return f"{self.lake.rstrip('/')}/{self.name}"

    @property
    def internal(self) -> str:
        """The directory of Penstock's notes about the table."""
        return f"{self.lake.rstrip('/')}/{INTERNAL}/{self.name}"

    @property
    def lock(self) -> str:
        """The file to lock before changing which files readers see."""
        return f"{self.internal}/lock"

    def state(self, query: str) -> str:
        """Return the directory of a query's state for the table."""
        return f"{self.internal}/queries/{query}"
