"""Gobblin's compactions: how many records a partition has after one."""

from __future__ import annotations

from typing import ClassVar, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import (
    first_problem,
    metadata,
    missing,
    normal_cluster,
    not_a_number,
    number,
    rows,
)
from penstock.catalog.processors.gobblin import FLOW_COLUMNS, flow_columns, flow_problem, group
from penstock.spark.decoding import KAFKA

NAMESPACE: Final = "compaction.tracking.events"
COMPLETED: Final = "CompactionCompleted"
RECORD_COUNTS: Final = "CompactionRecordCounts"

_OUTPUT_PATH = r"^(/\w+/\w+/[\w-]+)/([\w-]+)/(\d+.*)$"


class GobblinTrackingCompactionProcessor(Processor):
    """`CompactionCompleted` names dataset and partition; `CompactionRecordCounts` has them in its output's path.

    A completed compaction tells nothing of late records, so their count is null, not 0.
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

    def transform(self, records: DataFrame) -> DataFrame:
        """As the base class says."""
        is_compaction = (F.col("namespace") == NAMESPACE) & F.col("name").isin(COMPLETED, RECORD_COUNTS)
        is_completed = F.col("name") == COMPLETED
        path = metadata("DatasetOutputPath")
        count = F.when(is_completed, metadata("recordCount")).otherwise(metadata("RegularRecordCount"))
        late = F.when(~is_completed, metadata("LateRecordCount"))
        cluster = normal_cluster(metadata("clusterIdentifier"), self.clusters)
        dataset = F.when(is_completed, metadata("datasetUrn")).otherwise(group(path, _OUTPUT_PATH, 1))
        selected = records.filter(is_compaction).select(
            cluster.alias("cluster"),
            dataset.alias("dataset"),
            F.when(~is_completed, group(path, _OUTPUT_PATH, 2)).alias("partition_type"),
            F.when(is_completed, metadata("partition")).otherwise(group(path, _OUTPUT_PATH, 3)).alias("partition_name"),
            number(count).alias("record_count"),
            number(late).alias("late_record_count"),
            metadata("dedupeStatus").alias("dedupe_status"),
            *flow_columns("Gobblin"),
            first_problem(
                missing("clusterIdentifier", cluster),
                missing("dataset: datasetUrn, or a DatasetOutputPath of the form /a/b/c/grain/partition", dataset),
                not_a_number("the record count", count),
                not_a_number("LateRecordCount", late),
                flow_problem(),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)
