"""What every sink promises, and what it is told of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them

from penstock.errors import PenstockError
from penstock.events.record import Origin
from penstock.spark.queries.position import Position, distance


@dataclass(frozen=True)
class Batch:
    """One micro-batch of a query: which offsets it holds, and a number that only grows."""

    query: str
    number: int
    start: Position
    end: Position

    @property
    def size(self) -> int:
        """How many messages it has at most."""
        return distance(self.start.offsets, self.end.offsets)


Rest = Callable[[], Mapping[Origin, PenstockError]]
"""Makes rows safe that Spark is done with; gives back the messages whose rows cannot be taken, for the dead letters."""


class Sink(Protocol):
    """Where rows go.

    `write` returns when all rows are safe, and raises when they may not be; then the same offsets come again, in this
    run or in the next one. A sink that wrote them all the same says so by `landed`, and is not given them again.

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
    """A sink that knows before the write which rows it cannot write."""

    def unfit(self, schema: T.StructType) -> Column | None:
        """Return the problem of a row of these columns that cannot be written, null for all others.

        None if every row can be written. Rows with a problem are left out; their messages go to the dead letters.
        """
        ...
