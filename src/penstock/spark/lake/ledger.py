"""Ledger of a query and a Parquet table: which messages are in the table, and in which files.

An entry is a file, written atomically. Creating the entry commits the batch: from then on, the batch's messages are
never written again, and any process that finds listed moves unfinished completes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from penstock.errors import LedgerLost
from penstock.spark.files import Files
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position

_KEPT = 20
_NAME = re.compile(r"\d{20}\.json")


class Move(NamedTuple):
    """Move of a file from the staging directory to the path seen by readers."""

    source: str
    target: str


@dataclass(frozen=True)
class Entry:
    """Batch in the ledger: number, owner, resulting position, and possibly unfinished moves."""

    number: int
    owner: str
    end: Position
    moves: tuple[Move, ...] = ()

    def to_json(self) -> bytes:
        """Return the content of the entry's file."""
        data = {"number": self.number, "owner": self.owner, "end": self.end.as_data(), "moves": self.moves}
        return json.dumps(data).encode()

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Entry:
        """Parse an entry's file. Raise LedgerLost if the file is damaged: the batch may or may not have landed."""
        try:
            data: Mapping[str, Any] = json.loads(text)
            moves = tuple(Move(*move) for move in data["moves"])
            return cls(data["number"], data["owner"], Position.from_data(data["end"]), moves)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            files = f"part-*-{PurePosixPath(path).stem.lstrip('0')}-*.parquet"
            raise LedgerLost(
                f"ledger entry {path} is {'damaged' if text else 'empty'}",
                hint=f"restore it from a copy; if the table has no {files}, remove the entry: the batch is read again",
            ) from error


class Ledger:
    """Entries with increasing numbers. The last entry has the position; older entries are only history.

    Each number is used once. If two drivers continue from the same entry, only one driver gets the next number; the
    other driver detects the conflict before any file of its batch is visible.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory

    def last(self) -> Entry | None:
        """Return the newest entry, or None before the first batch."""
        while names := self._names():
            path = f"{self._directory}/{names[-1]}"
            text = self._files.read(path)
            if text is not None:
                return Entry.from_json(text, path)
            # Meanwhile, a different driver added so many entries that this entry was removed.
        return None

    def add(self, entry: Entry) -> bool:
        """Commit a batch to the table and remove old entries. Return False if a different driver has added entries."""
        path, text = self._path(entry.number), entry.to_json()
        # A client that retries after a lost response finds the entry that its first request created.
        if not self._files.create(path, text) and self._files.read(path) != text:
            return False
        names = self._names()
        for name in names[:-_KEPT]:
            self._files.remove(f"{self._directory}/{name}")
        # The number of a removed entry can be taken again, but is then not the newest.
        return f"{self._directory}/{names[-1]}" == self._path(entry.number)

    def finish(self, entry: Entry) -> None:
        """Record the completion of all moves of an entry."""
        self._files.write(self._path(entry.number), replace(entry, moves=()).to_json())

    def _names(self) -> list[str]:
        return [found.path for found in self._files.below(self._directory) if _NAME.fullmatch(found.path)]

    def _path(self, number: int) -> str:
        return f"{self._directory}/{number:020}.json"


def ledger_of(table: LakeTable, query: str) -> str:
    """Return the directory of the ledger entries of a query and a table."""
    return f"{table.state(query)}/ledger"
