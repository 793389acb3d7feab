"""The sink protocol, and the batches passed to a sink."""

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
    """Micro-batch of a query: an offset range and an increasing number.

    `landed` is the sink's position before the batch. After a crash, the sink's position may lie before the start,
    within, or after the end of the batch, since a repeated batch may be smaller than in the first run. A sink that
    writes rows first and lands them in a second step calls `before_landing` in between.
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
        """Offsets below which messages of this batch have landed; omits partitions without such messages."""
        done = self.start.offsets
        landed = same_topics(self.landed, self.end)
        return {place: offset for place, offset in landed.items() if offset > done.get(place, Offset(0))}

    @property
    def lands_at(self) -> Position:
        """The sink's position after the batch, stored by the sink together with the rows."""
        return furthest(self.landed, self.end)


Rest = Callable[[], Mapping[Origin, PenstockError]]
"""Makes written rows safe without Spark. Returns the messages whose rows were rejected, for the dead letters."""


class WriteAgain(Exception):
    """Raised by a sink that has to write the whole batch again, differently.

    A sink never repeats a failed write itself: Spark's counts of messages end with the first write of their rows.
    """


class Sink(Protocol):
    """Destination of rows.

    `write` returns when all rows are safe, and raises if any row may not be safe. After an error, the offsets are
    delivered again, in this run or in the next, possibly in smaller batches. A sink that reports its position by
    `landed` stores `batch.lands_at` with the rows, and never receives messages below its position again.

    A sink that needs Spark only for the first half of the work returns the second half as a `Rest`; the rows are safe
    when the `Rest` returns. Each `Rest` is called once, on a background thread, while Spark reads the next batch. Calls
    never overlap, and follow the order of the batches.
    """

    def check(self, schema: T.StructType) -> None:
        """Reject a schema whose rows the sink cannot accept; nothing is written yet."""
        ...

    def landed(self) -> Position | None:
        """Finish the work interrupted by a crash. Return the position below which all messages landed, if known."""
        ...

    def form(self, rows: DataFrame) -> DataFrame:
        """Return the rows in the form to write; the column `_kafka` contains their origin and is not written."""
        ...

    def write(self, formed: DataFrame, batch: Batch) -> Rest | None:
        """Write the rows of a batch. Return the remaining work that does not need Spark, if any."""
        ...


@runtime_checkable
class ChoosySink(Protocol):
    """Sink that knows before the write which rows it cannot write.

    A sink `can_screen` if the messages of unfit rows can be kept after the remaining rows are written: because those
    rows have not landed yet, or are written again after a crash. Otherwise, the messages are found and kept before the
    write.
    """

    can_screen: bool

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return a column with the problem of a row that cannot be written, null for a valid row.

        Return None if every row can be written. Rows with a problem are left out; their messages go to the dead
        letters.
        """
        ...
