"""Rows for COPY: tuples from Python, or lines from Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from penstock.catalog.database import Copy
from penstock.catalog.staging.rows import StagedRow, as_tuple
from penstock.events.record import Offset, Origin, Partition, TopicName

LINE = "line"
"""Column of Spark's rows with the text for COPY, next to topic, partition and offset."""

ArrowTable = Any
"""Table of pyarrow, which has no type hints."""


class CopyRows(Protocol):
    """Rows for one table: the values of `columns`, followed by the origin."""

    @property
    def columns(self) -> Sequence[str]:
        """Return the columns with values."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def part(self, start: int, stop: int) -> Self:
        """Return the rows from `start` to `stop`."""
        ...

    def first(self) -> StagedRow:
        """Return the first row, for error messages."""
        ...

    def write(self, copy: Copy) -> None:
        """Send all rows to PostgreSQL."""
        ...


@dataclass(frozen=True)
class Tuples:
    """Rows created in Python."""

    columns: Sequence[str]
    rows: Sequence[StagedRow]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def part(self, start: int, stop: int) -> Tuples:
        """Return the rows from `start` to `stop`."""
        return replace(self, rows=self.rows[start:stop])

    def first(self) -> StagedRow:
        """Return the first row."""
        return self.rows[0]

    def write(self, copy: Copy) -> None:
        """Write each row separately."""
        for row in self.rows:
            copy.write_row(as_tuple(row, self.columns))


@dataclass(frozen=True)
class Lines:
    """Rows created by Spark, as lines in COPY's text format, in an Arrow table."""

    columns: Sequence[str]
    table: ArrowTable

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.table.num_rows)

    def part(self, start: int, stop: int) -> Lines:
        """Return the rows from `start` to `stop`, as a slice without a copy."""
        return replace(self, table=self.table.slice(start, stop - start))

    def first(self) -> StagedRow:
        """Return the first row with its origin, but without values."""
        return StagedRow(origins(self.table.slice(0, 1))[0], {})

    def write(self, copy: Copy) -> None:
        """Write each chunk at once: Arrow stores its lines contiguously, as COPY expects them."""
        for chunk in filter(len, self.table[LINE].chunks):
            _, places, text = chunk.buffers()
            starts = memoryview(places).cast("i")
            copy.write(bytes(memoryview(text)[starts[chunk.offset] : starts[chunk.offset + len(chunk)]]))


def origins(table: ArrowTable) -> list[Origin]:
    """Return the origin of each row."""
    topics, partitions, offsets = (table[name].to_pylist() for name in ("topic", "partition", "offset"))
    each = zip(topics, partitions, offsets, strict=True)
    return [Origin(TopicName(topic), Partition(number), Offset(offset)) for topic, number, offset in each]
