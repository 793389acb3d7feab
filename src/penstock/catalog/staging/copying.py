"""Rows in the forms that COPY takes: tuples that Python made, or lines that Spark made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from penstock.catalog.database import Copy
from penstock.catalog.staging.rows import StagedRow, as_tuple
from penstock.events.record import Offset, Origin, Partition, TopicName

LINE = "line"
"""The column of Spark's rows that has the text for COPY; beside it stand topic, partition and offset."""

ArrowTable = Any
"""A table of pyarrow, which has no types."""


class CopyRows(Protocol):
    """Rows for one table: the values of `columns`, and then those that say where a row comes from."""

    @property
    def columns(self) -> Sequence[str]:
        """What the rows have values for."""
        ...

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def part(self, start: int, stop: int) -> Self:
        """Some of the rows, by their places."""
        ...

    def first(self) -> StagedRow:
        """The first row, as an error names it."""
        ...

    def write(self, copy: Copy) -> None:
        """Hand all rows to PostgreSQL."""
        ...


@dataclass(frozen=True)
class Tuples:
    """Rows that Python made."""

    columns: Sequence[str]
    rows: Sequence[StagedRow]

    def __len__(self) -> int:
        """As the protocol says."""
        return len(self.rows)

    def part(self, start: int, stop: int) -> Tuples:
        """As the protocol says."""
        return replace(self, rows=self.rows[start:stop])

    def first(self) -> StagedRow:
        """As the protocol says."""
        return self.rows[0]

    def write(self, copy: Copy) -> None:
        """As the protocol says."""
        for row in self.rows:
            copy.write_row(as_tuple(row, self.columns))


@dataclass(frozen=True)
class Lines:
    """Rows that Spark made, as lines of COPY's text format, in an Arrow table."""

    columns: Sequence[str]
    table: ArrowTable

    def __len__(self) -> int:
        """As the protocol says."""
        return int(self.table.num_rows)

    def part(self, start: int, stop: int) -> Lines:
        """As the protocol says."""
        return replace(self, table=self.table.slice(start, stop - start))

    def first(self) -> StagedRow:
        """As the protocol says; the values stay in their line."""
        return StagedRow(origins(self.table.slice(0, 1))[0], {})

    def write(self, copy: Copy) -> None:
        """As the protocol says: Arrow keeps the lines of a chunk behind each other, as COPY wants them."""
        for chunk in filter(len, self.table[LINE].chunks):
            _, places, text = chunk.buffers()
            starts = memoryview(places).cast("i")
            copy.write(bytes(memoryview(text)[starts[chunk.offset] : starts[chunk.offset + len(chunk)]]))


def origins(table: ArrowTable) -> list[Origin]:
    """Where each row comes from."""
    topics, partitions, offsets = (table[name].to_pylist() for name in ("topic", "partition", "offset"))
    each = zip(topics, partitions, offsets, strict=True)
    return [Origin(TopicName(topic), Partition(number), Offset(offset)) for topic, number, offset in each]
