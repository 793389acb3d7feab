"""Find the messages on which a transform fails, for reasons that nothing told before: halve the offsets of a batch.

Conditions that are known before a write are expressions, and cost no search (`screening`). What is searched here fails
inside of Spark without a word of which message it is about. The number of tries is bounded: ranges that still fail when
they are used up are given back as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from penstock.errors import TransformFailed
from penstock.events.record import Offset, Origin
from penstock.kafka.offsets import PartitionId
from penstock.spark.sinks.sink import Batch

MOST_TRIES = 200
"""How many jobs a search may cost: enough for about ten failing messages among 20,000."""


@dataclass(frozen=True)
class OffsetRange:
    """Messages of one partition that follow each other, from `start` up to but without `end`."""

    partition: PartitionId
    start: Offset
    end: Offset

    @property
    def size(self) -> int:
        """How many offsets it spans."""
        return self.end - self.start

    def halves(self) -> tuple[OffsetRange, OffsetRange]:
        """The first and the second half."""
        middle = Offset((self.start + self.end) // 2)
        return replace(self, end=middle), replace(self, start=middle)

    def __str__(self) -> str:
        """Render as the origin of the first message, and that of the last one if there are several."""
        last = f" to {self.end - 1}" if self.size > 1 else ""
        return f"{self.partition}/{self.start}{last}"


Try = Callable[[OffsetRange], TransformFailed | None]
"""Runs the transform over a range, and returns its failure, if any."""


def ranges_of(batch: Batch) -> list[OffsetRange]:
    """Return the offset ranges of a batch, without messages that have landed: a replay would store those twice."""
    starts, ends = {**batch.start.offsets, **batch.already_landed}, batch.end.offsets
    found = (OffsetRange(partition, starts.get(partition, Offset(0)), end) for partition, end in ends.items())
    return [each for each in found if each.size > 0]


def ranges_around(origins: Iterable[Origin]) -> list[OffsetRange]:
    """For each partition the range from the first to the last of these messages."""
    by_place: dict[PartitionId, list[Offset]] = {}
    for topic, partition, offset in origins:
        by_place.setdefault(PartitionId(topic, partition), []).append(offset)
    return [OffsetRange(place, min(found), Offset(max(found) + 1)) for place, found in by_place.items()]


def failing_ranges(
    ranges: Iterable[OffsetRange], try_range: Try, tries: int = MOST_TRIES
) -> dict[OffsetRange, TransformFailed]:
    """Return the ranges on which the transform fails: single messages, unless the tries are used up before.

    A range whose halves do not fail stays whole: its messages fail together only.
    """
    found = _failing(ranges, try_range)
    whole: set[OffsetRange] = set()
    for _ in range(tries // 2):
        # The largest range first: when the tries are used up, few good messages are left in what fails.
        part = max((each for each in found if each.size > 1 and each not in whole), key=_size, default=None)
        if part is None:
            break
        failing_halves = _failing(part.halves(), try_range)
        if failing_halves:
            del found[part]
            found |= failing_halves
        else:
            whole.add(part)
    return found


def _failing(ranges: Iterable[OffsetRange], try_range: Try) -> dict[OffsetRange, TransformFailed]:
    tried = ((part, try_range(part)) for part in ranges)
    return {part: failure for part, failure in tried if failure is not None}


def _size(part: OffsetRange) -> int:
    return part.size
