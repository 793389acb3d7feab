"""What a pipeline reads from: a group's partitions, a part of them to look at, or a file of events."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from penstock.events.record import ConsumerRecord
from penstock.kafka.offsets import Offsets, PartitionId


class Reader(Protocol):
    """Gives records out, and takes note of how far a pipeline has come; see `kafka.group_reader`."""

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more will come."""
        ...

    @property
    def is_connected(self) -> bool:
        """False while what is read from does not answer."""
        ...

    @property
    def position(self) -> Offsets:
        """The first offset of each partition that is not done."""
        ...

    def steady(self) -> AbstractContextManager[Any]:
        """Within this context no partition goes or comes, save inside of `take`."""
        ...

    def take(self, size: int, wait: float) -> list[ConsumerRecord]:
        """The records that are there, or come within `wait` seconds."""
        ...

    def done(self, offsets: Offsets) -> None:
        """All records before these offsets are done."""
        ...

    def commit(self, *, wait: bool) -> None:
        """Keep what is done for the next start."""
        ...

    def look(self) -> None:
        """Find out whether what did not answer does so again."""
        ...

    def lag(self) -> dict[PartitionId, int]:
        """How many records of each partition are not done."""
        ...

    def close(self) -> None:
        """Commit, and let go."""
        ...
