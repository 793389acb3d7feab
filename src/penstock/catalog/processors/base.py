"""Base classes of processors, which turn the records of a topic into rows of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from penstock.catalog.processors.columns import Cluster

Row = Mapping[str, object]

PROBLEM: Final = "problem"
"""Column with the reason why a record yields no row: text for a dead letter, null for a valid record."""


NO_ROW: Final = "no row of the processor"
"""Reason for skipped records for which the processor reports none."""


class Processor(ABC):
    """Turns the records of a topic into rows.

    `transform` is called once for each batch of a topic. The input has the records' fields as columns, plus `_kafka`
    with the position of each record. The output has the columns of `columns`, `problem`, and `_kafka` unchanged. Leave
    out irrelevant records; they are counted. A record without required values gets a `problem` and goes to the dead
    letters, while the rest of the batch continues. An exception stops the batch, which is then read again.

    A processor is created once for each query, with the clusters from the table `cfg_cluster`.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    """Columns of the output, besides the three columns of the record's origin."""

    def __init__(self, clusters: Sequence[Cluster] = ()) -> None:
        self.clusters = clusters

    def left_out(self) -> Mapping[str, Column]:
        """Return the conditions under which `transform` skips records, by reason.

        `penstock jobs show` reports the number of records per reason. At most one condition may hold for a record.
        Records that yield no row and match no reason are counted too.
        """
        return {}

    @abstractmethod
    def transform(self, records: DataFrame) -> DataFrame:
        """Return the rows of a batch of records, as a lazy Spark transformation without reads or writes."""


class RecordProcessor(Processor):
    """Processor in plain Python, for a quick start. Slower, because each record passes through a Python process.

    `process` is called once for each record and returns its row, or None to skip the record. An exception becomes the
    record's problem: the record goes to the dead letters, and the rest of the batch continues.
    """

    @abstractmethod
    def process(self, record: Mapping[str, Any]) -> Row | None:
        """Return the row of one record, or None."""

    def transform(self, records: DataFrame) -> DataFrame:
        """Apply `process` to every record."""
        from penstock.catalog.processors.plain import transformed  # noqa: PLC0415 - only imported for plain processors

        return transformed(self, records)
