"""What every processor promises: records of a topic become rows of its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from penstock.catalog.processors.columns import Cluster

Row = Mapping[str, object]

PROBLEM: Final = "problem"
"""The column that says why a record makes no row: text for one that goes to the dead letters, null for a good one."""


NO_ROW: Final = "no row of the processor"
"""Why a record was left out, where its processor gives no reason."""


class Processor(ABC):
    """Turns the records of a topic into rows.

    `transform` is called once for each batch of a topic. It gets the records' fields as columns, and beside them
    `_kafka`, which says where each comes from; it gives back the columns of `columns`, `problem`, and `_kafka` as it
    was. A record that is of no interest is left out, and counted. One that lacks what a row needs has its `problem`,
    and goes to the dead letters while the rest of the batch goes on. An exception stops the batch, which is then read
    again.

    A processor is made once for each query, with the clusters that the table `cfg_cluster` names.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    """What it writes, beside the three columns that say which message a row comes from."""

    def __init__(self, clusters: Sequence[Cluster] = ()) -> None:
        self.clusters = clusters

    def left_out(self) -> Mapping[str, Column]:
        """The reasons for which `transform` leaves records out, each with its condition on the records.

        `penstock jobs show` shows how many records each reason has. At most one condition holds for a record; a record
        that makes no row and has no reason here is counted as well.
        """
        return {}

    @abstractmethod
    def transform(self, records: DataFrame) -> DataFrame:
        """The rows of a batch of records, by expressions of Spark: nothing is read or written here."""


class RecordProcessor(Processor):
    """A processor in plain Python, for a quick start: slower, since each record goes through a Python process.

    `process` is called once for each record and returns its row, or None for a record that is of no interest. What it
    raises becomes the record's problem: the record goes to the dead letters, the rest of the batch goes on.
    """

    @abstractmethod
    def process(self, record: Mapping[str, Any]) -> Row | None:
        """The row of one record."""

    def transform(self, records: DataFrame) -> DataFrame:
        """Give every record to `process`."""
        from penstock.catalog.processors.plain import transformed  # noqa: PLC0415 - only this way needs it

        return transformed(self, records)
