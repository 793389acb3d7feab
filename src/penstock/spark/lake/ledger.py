"""The ledger of one query and one Parquet table: which messages are in the table, and which files brought them.

An entry is one file, written as a whole. Its appearance is the moment at which a batch is in the table: from then on
the moves that it lists are finished by whoever finds them unfinished, and its messages are never written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from penstock.spark.files import Files
from penstock.spark.position import Position

_KEPT = 20


class Move(NamedTuple):
    """A file on its way from where a batch was staged to where readers see it."""

    source: str
    target: str


@dataclass(frozen=True)
class Entry:
    """One batch: its number, the position that it leads to, and the moves that are not known to be finished."""

    number: int
    end: Position
    moves: tuple[Move, ...]

    def to_json(self) -> bytes:
        """The entry as its file has it."""
        return json.dumps({"number": self.number, "end": self.end.as_data(), "moves": self.moves}).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Entry:
        """The entry of a file."""
        data: Mapping[str, Any] = json.loads(text)
        return cls(data["number"], Position.from_data(data["end"]), tuple(Move(*move) for move in data["moves"]))


class Ledger:
    """Entries by growing numbers; the last one tells the position, the ones before it only the history."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory

    def last(self) -> Entry | None:
        """The newest entry, or None before the first batch."""
        names = self._names()
        text = self._files.read(f"{self._directory}/{names[-1]}") if names else None
        return Entry.from_json(text) if text else None

    def add(self, entry: Entry) -> None:
        """Make a batch part of the table."""
        self._files.write(self._path(entry.number), entry.to_json())

    def finish(self, entry: Entry) -> None:
        """Note that all moves of an entry are finished, and forget entries of long ago."""
        self._files.write(self._path(entry.number), replace(entry, moves=()).to_json())
        for name in self._names()[:-_KEPT]:
            self._files.remove(f"{self._directory}/{name}")

    def _names(self) -> list[str]:
        return [found.path for found in self._files.below(self._directory) if found.path.endswith(".json")]

    def _path(self, number: int) -> str:
        return f"{self._directory}/{number:020}.json"
