"""The sink protocol, and the batch that a sink receives."""

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
    """Micro-batch of a query: its offset range and an increasing number.

    `landed` is the sink's position before the batch. After a crash, that position may lie before the start, within, or
    after the end of the batch, since a repeated batch may be smaller than in its first run. A sink that writes rows
    first and lands them in a second step calls `before_landing` in between.
    """

    query: str
    number: int
    start: Position
    end: Position
    landed: Position = NOWHERE
    before_landing: Callable[[], object] = field(default=lambda: None, compare=False)

    @property
    def size(self) -> int:
        """The maximum number of messages in the batch."""
        return distance(self.start.offsets, self.end.offsets)

    @property
    def already_landed(self) -> Offsets:
        """For each partition with landed messages of this batch: the offset below which they have landed."""
        done = self.start.offsets
        landed = same_topics(self.landed, self.end)
        return {place: offset for place, offset in landed.items() if offset > done.get(place, Offset(0))}

    @property
    def lands_at(self) -> Position:
        """The sink's position after this batch, which the sink stores together with the rows."""
        return furthest(self.landed, self.end)


Rest = Callable[[], Mapping[Origin, PenstockError]]
"""Makes written rows safe without Spark. Returns the messages whose rows were rejected, for the dead letters."""


class Sink(Protocol):
    """Destination of rows.

    `write` returns when all rows are safe, and raises if they may not be. After an error, the offsets are delivered
    again, in this run or in the next, possibly in smaller batches. A sink that reports its position by `landed` stores
    `batch.lands_at` with the rows, and never receives messages below its position again.

    A sink that needs Spark only for half of the work returns the other half as a `Rest`; the rows are safe when the
    `Rest` returns. Each `Rest` is called once, on a background thread, while Spark reads the next batch. Calls never
    overlap, and follow the order of the batches.
    """

    def check(self, schema: T.StructType) -> None:
        """Reject rows of a schema that the sink cannot accept. Called before anything is written."""
        ...

    def landed(self) -> Position | None:
        """Finish the work that a crash interrupted. Return the position below which all messages landed, if known."""
        ...

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the rows in the form to write; the column `_kafka` has their origin and is not written itself."""
        ...

    def write(self, formed: DataFrame, batch: Batch) -> Rest | None:
        """Write the rows of one batch. Return remaining work that does not need Spark, if any."""
        ...


@runtime_checkable
class ChoosySink(Protocol):
    """Sink that knows before the write which rows it cannot write.

    A sink `can_screen` if the messages of unfit rows can be kept after the other rows are written: because those rows
    have not landed yet, or are written again after a crash. Otherwise, the messages are found and kept before the
    write.
    """

    can_screen: bool

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return a column with the problem of a row that cannot be written, null for all other rows.

        Return None if every row can be written. Rows with a problem are left out; their messages go to the dead
        letters.
        """
        ...
