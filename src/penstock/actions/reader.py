"""What a pipeline reads from: a group's partitions, a part of them to look at, or a file of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from penstock.events.record import ConsumerRecord
from penstock.kafka.group_reader import Standing
from penstock.kafka.offsets import Offsets

Received = TypeVar("Received")


class Reader(Protocol):
    """Gives records out, and takes note of how far a pipeline has come; `kafka.group_reader` has the guarantees."""

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more will come."""
        ...

    def take(self, size: int, wait: float, receive: Callable[[list[ConsumerRecord]], Received]) -> Received:
        """Give `receive` the records that are there, or come within `wait` seconds; what it makes of them."""
        ...

    def commit(self, done: Offsets, *, wait: bool) -> None:
        """All records before these offsets are done: keep that for the next start."""
        ...

    def standing(self) -> Standing:
        """How far it is."""
        ...

    def close(self, done: Offsets) -> None:
        """Commit, and let go."""
        ...
