"""A table as its readers see it, whichever format it has."""

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
"""A dataset can be read again and in part; a reader gives everything, once."""

Choose = Callable[[Sequence[str]], list[str] | None]
"""Which of a table's columns are needed; None for all."""


@dataclass(frozen=True)
class Summary:
    """How much is in a table, and when it was last written to."""

    partitions: int
    files: int
    rows: int
    size: int
    last_write: datetime | None


@dataclass(frozen=True)
class Change:
    """One write to a table: a commit of Delta, or a batch in a ledger."""

    number: int
    when: datetime
    what: str
    writer: str | None


class Table(Protocol):
    """A table at one moment; what is written later is not seen.

    LakeUnavailable is raised where the lake does not answer, TableUnreadable where files are not what they should be.
    """

    @property
    def name(self) -> TableName:
        """Its name, which is its path below the lake."""
        ...

    @property
    def format(self) -> Format:
        """Parquet or Delta."""
        ...

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns that make its folders."""
        ...

    def schema(self) -> pa.Schema:
        """Its columns, those of the folders too."""
        ...

    def rows(self, choose: Choose) -> Rows:
        """Every row; the columns that are chosen, and perhaps more."""
        ...

    def summary(self) -> Summary:
        """How much is in it."""
        ...

    def history(self, limit: int) -> list[Change]:
        """The last writes, the newest first."""
        ...
