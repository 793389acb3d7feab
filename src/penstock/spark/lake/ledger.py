"""The ledger of one query and one Parquet table: which messages are in the table, and which files brought them.

An entry is one file, written as a whole. Its appearance is the moment at which a batch is in the table: from then on
the moves that it lists are finished by whoever finds them unfinished, and its messages are never written again.
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
    """A file on its way from where a batch was staged to where readers see it."""

    source: str
    target: str


@dataclass(frozen=True)
class Entry:
    """One batch: its number, who added it, the position it leads to, and the moves not known to be finished."""

    number: int
    owner: str
    end: Position
    moves: tuple[Move, ...] = ()

    def to_json(self) -> bytes:
        """The entry as its file has it."""
        data = {"number": self.number, "owner": self.owner, "end": self.end.as_data(), "moves": self.moves}
        return json.dumps(data).encode()

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Entry:
        """Read the entry of a file. Raise LedgerLost if it is damaged: nobody knows whether its batch has landed."""
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
    """Entries by growing numbers; the last one tells the position, the ones before it only the history.

    A number is taken once. So of two drivers that go on from the same entry one gets the next number, and the other
    learns that it is not alone before anything of its batch can be seen.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory

    def last(self) -> Entry | None:
        """The newest entry, or None before the first batch."""
        while names := self._names():
            path = f"{self._directory}/{names[-1]}"
            text = self._files.read(path)
            if text is not None:
                return Entry.from_json(text, path)
            # Somebody else added so many entries meanwhile that this one was removed.
        return None

    def add(self, entry: Entry) -> bool:
        """Make a batch part of the table, and forget entries of long ago; False if somebody else has gone on."""
        path, text = self._path(entry.number), entry.to_json()
        # A store that was asked twice, because its first answer was lost, says of our own entry that it is there.
        if not self._files.create(path, text) and self._files.read(path) != text:
            return False
        names = self._names()
        for name in names[:-_KEPT]:
            self._files.remove(f"{self._directory}/{name}")
        # A number that was taken long ago and forgotten can be taken again, but is not the newest then.
        return f"{self._directory}/{names[-1]}" == self._path(entry.number)

    def finish(self, entry: Entry) -> None:
        """Note that all moves of an entry are finished."""
        self._files.write(self._path(entry.number), replace(entry, moves=()).to_json())

    def _names(self) -> list[str]:
        return [found.path for found in self._files.below(self._directory) if _NAME.fullmatch(found.path)]

    def _path(self, number: int) -> str:
        return f"{self._directory}/{number:020}.json"


def ledger_of(table: LakeTable, query: str) -> str:
    """Where the entries of one query and one table are."""
    return f"{table.state(query)}/ledger"
