"""Interface of tables for readers, independent of the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa
from pyarrow import dataset as ds

from penstock.lake.inventory import TableName

Format = Literal["parquet", "delta"]
Rows: TypeAlias = ds.Dataset | pa.RecordBatchReader
"""Rows of a table. A dataset can be read repeatedly and in part; a reader returns everything, once."""

Choose = Callable[[Sequence[str]], list[str] | None]
"""Function to select the needed columns of a table; None for all."""


@dataclass(frozen=True)
class Summary:
    """Size of a table, and time of its last write."""

    partitions: int
    files: int
    rows: int
    size: int
    last_write: datetime | None


@dataclass(frozen=True)
class Change:
    """Write to a table: a Delta commit, or a batch in a ledger."""

    number: int
    when: datetime
    what: str
    writer: str | None


class Table(Protocol):
    """Snapshot of a table. Later writes are not visible.

    Raises LakeUnavailable if the lake does not answer, TableUnreadable if files are damaged or invalid.
    """

    @property
    def name(self) -> TableName:
        """Name of the table, equal to its path below the lake."""
        ...

    @property
    def format(self) -> Format:
        """Parquet or Delta."""
        ...

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Partition columns."""
        ...

    def schema(self) -> pa.Schema:
        """Return the columns, including partition columns."""
        ...

    def rows(self, choose: Choose) -> Rows:
        """Return every row with the chosen columns, possibly with more."""
        ...

    def summary(self) -> Summary:
        """Return counts, size and time of the last write."""
        ...

    def history(self, limit: int) -> list[Change]:
        """Return the last writes, newest first."""
        ...
