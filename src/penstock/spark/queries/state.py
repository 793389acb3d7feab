"""What one query must remember between runs: its position, and who runs it."""

from __future__ import annotations

import json
import uuid
from typing import Any, Protocol

from penstock.errors import TakenOver
from penstock.spark.files import Files
from penstock.spark.queries.position import Position

_FILE = "state.json"


class State(Protocol):
    """The position up to which everything of a query is done: written, refused records kept, progress told.

    One driver at a time owns the state. Another one that claims it makes the next `check` or `save` of the first raise
    TakenOver, so that two drivers started by mistake do not both write.
    """

    def claim(self) -> Position | None:
        """Become the owner; the position that was saved last, or None before the first time."""
        ...

    def check(self) -> None:
        """Make sure that this driver is still the owner."""
        ...

    def save(self, position: Position) -> None:
        """Remember how far everything is done."""
        ...


class QueryState:
    """The state in a file."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._path = f"{directory}/{_FILE}"
        self._owner = uuid.uuid4().hex
        self._position: Position | None = None

    def claim(self) -> Position | None:
        """As the protocol says."""
        data = self._read()
        saved = data.get("position")
        self._position = Position.from_data(saved) if saved else None
        self._write()
        return self._position

    def check(self) -> None:
        """As the protocol says."""
        if self._read().get("owner") != self._owner:
            raise taken_over(self._path)

    def save(self, position: Position) -> None:
        """As the protocol says."""
        self.check()
        self._position = position
        self._write()

    def has_position(self) -> bool:
        """Whether a position was saved, by whomever."""
        return bool(self._read().get("position"))

    def _read(self) -> dict[str, Any]:
        text = self._files.read(self._path)
        return dict(json.loads(text)) if text else {}

    def _write(self) -> None:
        position = self._position.as_data() if self._position else None
        data = {"owner": self._owner, "position": position}
        self._files.write(self._path, json.dumps(data).encode())


class NoState:
    """No memory, for a query that reads once what is there."""

    def claim(self) -> Position | None:
        """As the protocol says: it was never run before."""
        return None

    def check(self) -> None:
        """As the protocol says; it has no other driver."""

    def save(self, position: Position) -> None:
        """As the protocol says; nothing is remembered."""


def taken_over(place: str) -> TakenOver:
    """The error of a driver that is not the owner any more."""
    return TakenOver(
        "another driver has begun to run this query",
        hint="stop one of the two; a query is run by one driver at a time",
        state=place,
    )
