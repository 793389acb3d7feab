"""A table of the lake: where its files are, and where what Penstock notes about it is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import UsageError

INTERNAL = "_penstock"
"""The directory beside the tables for notes and unfinished files; a reader of a table never looks into it."""

SERVER_NOTE = "server.json"
"""In the notes of a mirror or history: the server of the database whose positions it has."""

DEFAULT_TARGET_BYTES = 128 * 1024 * 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(/[A-Za-z0-9][A-Za-z0-9_.\-]*)*")


@dataclass(frozen=True)
class LakeTable:
    """A table by its name below the lake (`events`, `shop/orders`), and the columns that make its folders."""

    lake: str
    name: str
    partition_by: tuple[str, ...] = ()
    target_bytes: int = DEFAULT_TARGET_BYTES

    def __post_init__(self) -> None:
        """Refuse names that lead elsewhere."""
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
        """The directory of our notes about the table."""
        return f"{self.lake.rstrip('/')}/{INTERNAL}/{self.name}"

    @property
    def lock(self) -> str:
        """The file that is locked by whoever changes which files readers see."""
        return f"{self.internal}/lock"

    def state(self, query: str) -> str:
        """The directory in which one query keeps its state for this table."""
        return f"{self.internal}/queries/{query}"
