"""Finding the messages on which a transform fails: by halving the offsets of a batch until each is alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from penstock.errors import TransformFailed
from penstock.events.record import Offset, Origin
from penstock.kafka.offsets import PartitionId
from penstock.spark.sinks.sink import Batch

MOST = 100
"""How many failing messages one batch may have: more of them speak of a transform that is wrong, not of bad data."""


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


Try = Callable[[OffsetRange], TransformFailed | None]
"""Runs the transform over a range, and tells whether it failed."""


def ranges_of(batch: Batch) -> list[OffsetRange]:
    """The ranges that a batch holds."""
    starts, ends = batch.start.offsets, batch.end.offsets
    found = (OffsetRange(partition, starts.get(partition, Offset(0)), end) for partition, end in ends.items())
    return [each for each in found if each.size > 0]


def ranges_around(origins: Iterable[Origin]) -> list[OffsetRange]:
    """For each partition the range from the first to the last of these messages."""
    by_place: dict[PartitionId, list[Offset]] = {}
    for topic, partition, offset in origins:
        by_place.setdefault(PartitionId(topic, partition), []).append(offset)
    return [OffsetRange(place, min(found), Offset(max(found) + 1)) for place, found in by_place.items()]


def failing_messages(ranges: list[OffsetRange], try_range: Try) -> dict[Origin, TransformFailed]:
    """Every message on which the transform fails, and how; raises when there are too many of them."""
    found: dict[Origin, TransformFailed] = {}
    waiting = list(reversed(ranges))
    while waiting:
        part = waiting.pop()
        failure = try_range(part)
        if failure is None:
            continue
        if part.size == 1:
            found[Origin(*part.partition, part.start)] = failure
            _refuse_many(found, failure)
        else:
            waiting.extend(reversed(part.halves()))
    return found


def _refuse_many(found: dict[Origin, TransformFailed], failure: TransformFailed) -> None:
    if len(found) > MOST:
        raise TransformFailed(
            f"the transform fails on more than {MOST} messages of one batch: {failure.message}",
            hint="correct the transform; the batch comes again when the pipeline is started",
        )
