"""Custom partitioners: functions of the key's bytes and the number of partitions."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from penstock.errors import UsageError

Partitioner = Callable[[bytes | None, int], int]

_REFRESH_SECONDS = 60.0


class PartitionChooser:
    """Calls the user's function with a partition count, at most a minute old."""

    def __init__(self, partitioner: Partitioner, count_partitions: Callable[[], int]) -> None:
        self._partitioner = partitioner
        self._count_partitions = count_partitions
        self._count = 0
        self._stale_at = 0.0

    def __call__(self, key: bytes | None) -> int:
        """Return the partition for a key. Raise UsageError if the function's result is not a partition."""
        if monotonic() >= self._stale_at:
            self._count = self._count_partitions()
            self._stale_at = monotonic() + _REFRESH_SECONDS
        partition: object = self._partitioner(key, self._count)
        if not isinstance(partition, int) or not 0 <= partition < self._count:
            raise UsageError(
                f"the partitioner answered {partition!r} for a topic with {self._count} partitions",
                hint=f"it must return a number from 0 to {self._count - 1}",
            )
        return partition
