"""Persistent state of a query: position and owner."""

from __future__ import annotations

import json
import uuid
from typing import Any, Protocol

from penstock.errors import TakenOver
from penstock.spark.files import Files
from penstock.spark.queries.position import Position

_FILE = "state.json"


class State(Protocol):
    """Position up to which a query has finished all work: rows written, rejected messages kept, progress reported.

    A single driver owns the state at a time. After a second driver claims the state, the next `check` or `save` of the
    first driver raises TakenOver, so two drivers started by mistake do not both write.
    """

    def claim(self) -> Position | None:
        """Become the owner. Return the last saved position, or None if there is none."""
        ...

    def check(self) -> None:
        """Raise TakenOver if this driver is not the owner."""
        ...

    def save(self, position: Position) -> None:
        """Save the position up to which all work is done."""
        ...


class QueryState:
    """State stored in a file."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._path = f"{directory}/{_FILE}"
        self._owner = uuid.uuid4().hex
        self._position: Position | None = None

    def claim(self) -> Position | None:
        """Become the owner in the file, and return the saved position."""
        data = self._read()
        saved = data.get("position")
        self._position = Position.from_data(saved) if saved else None
        self._write()
        return self._position

    def check(self) -> None:
        """Raise TakenOver if the file names a different owner."""
        if self._read().get("owner") != self._owner:
            raise taken_over(self._path)

    def save(self, position: Position) -> None:
        """Check the ownership, then write the position."""
        self.check()
        self._position = position
        self._write()

    def has_position(self) -> bool:
        """Whether any driver has saved a position."""
        return bool(self._read().get("position"))

    def _read(self) -> dict[str, Any]:
        text = self._files.read(self._path)
        return dict(json.loads(text)) if text else {}

    def _write(self) -> None:
        position = self._position.as_data() if self._position else None
        data = {"owner": self._owner, "position": position}
        self._files.write(self._path, json.dumps(data).encode())


class NoState:
    """Empty state, for a query that reads existing messages once."""

    def claim(self) -> Position | None:
        """Return None: the query has no earlier run."""
        return None

    def check(self) -> None:
        """Do nothing: the query has no second driver."""

    def save(self, position: Position) -> None:
        """Discard the position."""


def taken_over(place: str) -> TakenOver:
    """Return the error of a driver that has lost the ownership."""
    return TakenOver(
        "another driver has begun to run this query",
        hint="stop one of the two; a query is run by one driver at a time",
        state=place,
    )
