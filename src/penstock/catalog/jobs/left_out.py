"""Counts of the records that a processor skips on purpose, by reason."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.base import NO_ROW, Processor
from penstock.spark.queries.observing import observed_values

_ALL = "all records"


class LeftOut:
    """Counts while Spark reads a batch, so that nothing is read twice.

    The counts of a batch are `pending` after the rows are stored, until the position is saved. Counts and position are
    saved in one transaction, so a batch repeated after a crash is counted once.
    """

    def __init__(self, processor: Processor) -> None:
        self.columns = processor.columns
        self.pending: Mapping[str, int] = {}
        self._processor = processor
        self._observation = Observation()

    def transform(self, records: DataFrame) -> DataFrame:
        """Apply the processor's transform, and count the records by reason."""
        self._observation = Observation()
        reasons = [F.count_if(condition).alias(reason) for reason, condition in self._processor.left_out().items()]
        seen = records.observe(self._observation, F.count(F.lit(1)).alias(_ALL), *reasons)
        return self._processor.transform(seen)

    def counts(self, made: int) -> Mapping[str, int]:
        """Return the counts of the last transformed batch, from which the processor made `made` rows."""
        found = dict(observed_values(self._observation) or {})
        others = found.pop(_ALL, 0) - made - sum(found.values())
        return {reason: count for reason, count in {**found, NO_ROW: others}.items() if count > 0}
