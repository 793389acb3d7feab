"""What every sink promises, and what it is told of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import PenstockError
from penstock.events.record import Offset, Origin
from penstock.kafka.offsets import Offsets
from penstock.spark.queries.position import NOWHERE, Position, distance, furthest, same_topics


@dataclass(frozen=True)
class Batch:
    """One micro-batch of a query: which offsets it holds, and a number that only grows.

    `landed` is the position of the sink before the batch. After a crash it may be anywhere: before the start of the
    batch, inside of it, or behind its end, since a repeated batch may be smaller than it was the first time. A sink
    that writes rows first, and lands them by a second step, calls `before_landing` in between.
    """

    query: str
    number: int
    start: Position
    end: Position
    landed: Position = NOWHERE
    before_landing: Callable[[], object] = field(default=lambda: None, compare=False)

    @property
    def size(self) -> int:
        """How many messages it has at most."""
        return distance(self.start.offsets, self.end.offsets)

    @property
    def already_landed(self) -> Offsets:
        """Offsets below which messages of this batch are in the sink, for the partitions that have such messages."""
        done = self.start.offsets
        landed = same_topics(self.landed, self.end)
        return {place: offset for place, offset in landed.items() if offset > done.get(place, Offset(0))}

    @property
    def lands_at(self) -> Position:
        """The position of the sink after this batch, which the sink stores together with the rows."""
        return furthest(self.landed, self.end)


Rest = Callable[[], Mapping[Origin, PenstockError]]
"""Makes rows safe that Spark is done with; gives back the messages whose rows cannot be taken, for the dead letters."""


class Sink(Protocol):
    """Where rows go.

    `write` returns when all rows are safe, and raises when they may not be; then the same offsets come again, in this
    run or in the next one, possibly in smaller batches. A sink that reports its position by `landed` stores
    `batch.lands_at` with the rows, and does not get messages again that are before its position.

    A sink for which Spark is only half of the way gives back the other half as a `Rest`, and the rows are safe when
    that one returns. It is called once, on another thread, while Spark reads the next batch; the rests of two batches
    never overlap, and come in the order of the batches.
    """

    def check(self, schema: T.StructType) -> None:
        """Refuse rows of this schema that the sink could not take; nothing is written yet."""
        ...

    def landed(self) -> Position | None:
        """Finish what a crash left half done, and say up to where every message is in the sink, if it knows."""
        ...

    def form(self, rows: DataFrame) -> DataFrame:
        """The rows as they are written; their column `_kafka` says where each comes from, and is not written itself."""
        ...

    def write(self, formed: DataFrame, batch: Batch) -> Rest | None:
        """Write the rows of one batch; what is still to be done without Spark is given back."""
        ...


@runtime_checkable
class ChoosySink(Protocol):
    """A sink that knows before the write which rows it cannot write.

    It `can_screen` if their messages can be kept when the rows around them are written already: because those have not
    landed yet, or would be written again after a crash. Else they are found and kept before.
    """

    can_screen: bool

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return the problem of a row of these columns that cannot be written, null for all others.

        None if every row can be written. Rows with a problem are left out; their messages go to the dead letters.
        """
        ...
