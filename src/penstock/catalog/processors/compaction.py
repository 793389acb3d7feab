"""Processor of Gobblin's compaction events: record counts of partitions after a compaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import ClassVar, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import (
    first_problem,
    missing,
    normal_cluster,
    not_a_number,
    number,
    rows,
)
from penstock.catalog.processors.gobblin import FLOW_COLUMNS, flow_columns, flow_problem, group, other_events, told
from penstock.spark.decoding import KAFKA

NAMESPACE: Final = "compaction.tracking.events"
COMPLETED: Final = "CompactionCompleted"
RECORD_COUNTS: Final = "CompactionRecordCounts"

_OUTPUT_PATH = r"^(/\w+/\w+/[\w-]+)/([\w-]+)/(\d+.*)$"
_PATH_FORM = "/a/b/c/grain/partition"
_KEYS = (
    *("clusterIdentifier", "DatasetOutputPath", "datasetUrn", "partition"),
    *("recordCount", "RegularRecordCount", "LateRecordCount", "dedupeStatus"),
)


class GobblinTrackingCompactionProcessor(Processor):
    """Reads the dataset from `CompactionCompleted`, or from the output path of `CompactionRecordCounts`.

    A completed compaction reports no late records, so their count is 0, as in WhereHows.
    """

    columns: ClassVar = (
        *(
            "cluster",
            "dataset",
            "partition_type",
            "partition_name",
            "record_count",
            "late_record_count",
            "dedupe_status",
        ),
        *FLOW_COLUMNS,
    )

    def left_out(self) -> Mapping[str, Column]:
        """Return the reason for events that are not compactions."""
        return other_events(_is_compaction())

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per compaction event."""
        events = told(records, _is_compaction(), *_KEYS)
        return rows(events.select("*", *self._named).select(*self._row), self.columns)

    @cached_property
    def _named(self) -> list[Column]:
        is_completed = F.col("name") == COMPLETED
        return [
            normal_cluster(F.col("clusterIdentifier"), self.clusters).alias("cluster"),
            F.when(is_completed, F.col("datasetUrn")).otherwise(_part(1)).alias("dataset"),
            F.when(~is_completed, _part(2)).alias("partition_type"),
            F.when(is_completed, F.col("partition")).otherwise(_part(3)).alias("partition_name"),
            F.when(is_completed, F.col("recordCount")).otherwise(F.col("RegularRecordCount")).alias("count"),
            F.when(~is_completed, F.col("LateRecordCount")).alias("late"),
        ]

    @cached_property
    def _row(self) -> list[Column]:
        return [
            *map(F.col, ("cluster", "dataset", "partition_type", "partition_name")),
            number(F.col("count")).alias("record_count"),
            F.coalesce(number(F.col("late")), F.lit(0)).alias("late_record_count"),
            F.col("dedupeStatus").alias("dedupe_status"),
            *flow_columns("Gobblin"),
            first_problem(
                missing("clusterIdentifier", F.col("cluster")),
                missing(f"dataset: datasetUrn, or a DatasetOutputPath of the form {_PATH_FORM}", F.col("dataset")),
                not_a_number("the record count", F.col("count")),
                not_a_number("LateRecordCount", F.col("late")),
                flow_problem(),
            ),
            F.col(KAFKA),
        ]


@cache
def _is_compaction() -> Column:
    return (F.col("namespace") == NAMESPACE) & F.col("name").isin(COMPLETED, RECORD_COUNTS)


def _part(index: int) -> Column:
    return group(F.col("DatasetOutputPath"), _OUTPUT_PATH, index)
