"""Interface of readers: a group's partitions, an excerpt of them, or a file of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from penstock.events.record import ConsumerRecord
from penstock.kafka.group_reader import Standing
from penstock.kafka.offsets import Offsets

Received = TypeVar("Received")


class Reader(Protocol):
    """Source of records that stores a pipeline's progress. `kafka.group_reader` states the guarantees."""

    @property
    def is_exhausted(self) -> bool:
        """Whether no more records will come."""
        ...

    def take(self, size: int, wait: float, receive: Callable[[list[ConsumerRecord]], Received]) -> Received:
        """Pass the records available within `wait` seconds to `receive`, at most `size`. Return its result."""
        ...

    def commit(self, done: Offsets, *, wait: bool) -> None:
        """Store these offsets for the next start: all earlier records are done."""
        ...

    def standing(self) -> Standing:
        """Return the reader's position and lag."""
        ...

    def close(self, done: Offsets) -> None:
        """Commit and disconnect."""
        ...
