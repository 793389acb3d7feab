"""Find messages on which a transform fails for unforeseen reasons, by halving the offset ranges of a batch.

Conditions known before a write are expressions and need no search (`screening`). The failures searched here occur
inside Spark, without any reference to a message. The number of tries is bounded: ranges on which the transform still
fails after the last try are returned unsplit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from penstock.errors import TransformFailed, UnknownFailure
from penstock.events.record import Offset, Origin
from penstock.kafka.offsets import PartitionId
from penstock.spark.sinks.sink import Batch

MOST_TRIES = 200
"""Maximum number of jobs per search: enough for about ten failing messages among 20,000.

Each message that fails for an unknown reason takes one more.
"""


@dataclass(frozen=True)
class OffsetRange:
    """Consecutive offsets of a partition, from `start` up to `end`, exclusive."""

    partition: PartitionId
    start: Offset
    end: Offset

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.end - self.start

    def halves(self) -> tuple[OffsetRange, OffsetRange]:
        """Return the first and the second half."""
        middle = Offset((self.start + self.end) // 2)
        return replace(self, end=middle), replace(self, start=middle)

    def __str__(self) -> str:
        """Render as the first message's origin, plus the last offset if there are several."""
        last = f" to {self.end - 1}" if self.size > 1 else ""
        return f"{self.partition}/{self.start}{last}"


Try = Callable[[OffsetRange], TransformFailed | UnknownFailure | None]
"""Runs the transform over a range, and returns the failure, if any."""


def ranges_of(batch: Batch) -> list[OffsetRange]:
    """Return the offset ranges of a batch."""
    starts, ends = {**batch.start.offsets, **batch.already_landed}, batch.end.offsets
    found = (OffsetRange(partition, starts.get(partition, Offset(0)), end) for partition, end in ends.items())
    return [each for each in found if each.size > 0]


def ranges_around(origins: Iterable[Origin]) -> list[OffsetRange]:
    """Return a range per partition, from the first to the last of the messages."""
    by_place: dict[PartitionId, list[Offset]] = {}
    for topic, partition, offset in origins:
        by_place.setdefault(PartitionId(topic, partition), []).append(offset)
    return [OffsetRange(place, min(found), Offset(max(found) + 1)) for place, found in by_place.items()]


def failing_ranges(
    ranges: Iterable[OffsetRange], try_range: Try, tries: int = MOST_TRIES
) -> dict[OffsetRange, TransformFailed]:
    """Return the ranges on which the transform fails: single messages, unless the tries run out.

    A range whose halves both succeed stays whole: its messages fail only together. An unknown failure may have a cause
    other than the messages, such as a lost executor. Only single messages that fail twice are found, and none if every
    try fails and there are several messages.
    """
    ranges, has_passed = list(ranges), False

    def attempt(part: OffsetRange) -> TransformFailed | UnknownFailure | None:
        nonlocal has_passed
        failure = try_range(part)
        has_passed = has_passed or failure is None
        return failure

    found = _failing(ranges, attempt)
    whole: set[OffsetRange] = set()
    for _ in range(tries // 2):
        # The largest range first: when the tries run out, the failing ranges contain few valid messages.
        part = max((each for each in found if each.size > 1 and each not in whole), key=_size, default=None)
        if part is None:
            break
        failing_halves = _failing(part.halves(), attempt)
        if failing_halves:
            del found[part]
            found |= failing_halves
        else:
            whole.add(part)
    known = {part: failure for part, failure in found.items() if isinstance(failure, TransformFailed)}
    if not has_passed and sum(map(_size, ranges)) > 1:
        return known
    again = _failing([part for part in found if part.size == 1 and part not in known], try_range)
    return known | {part: TransformFailed(failure.message) for part, failure in again.items()}


def _failing(ranges: Iterable[OffsetRange], try_range: Try) -> dict[OffsetRange, TransformFailed | UnknownFailure]:
    tried = ((part, try_range(part)) for part in ranges)
    return {part: failure for part, failure in tried if failure is not None}


def _size(part: OffsetRange) -> int:
    return part.size
