"""Gobblin's distributed copies: which partition was published where, and from where."""

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
from penstock.catalog.processors.gobblin import FLOW_COLUMNS, flow_columns, flow_problem
from penstock.spark.decoding import KAFKA

NAMESPACE: Final = "gobblin.copy.CopyDataPublisher"
PUBLISHED: Final = "DatasetPublished"


class GobblinTrackingDistcpNgProcessor(Processor):
    """`DatasetPublished`; the partition is kept as it is written, such as `["2016-07-10-00"]`."""

    columns: ClassVar = (
        *("cluster", "dataset", "partition_type", "partition_name", "upsteam_timestamp", "origin_timestamp"),
        *("source_path", "target_path", *FLOW_COLUMNS),
    )

    def transform(self, records: DataFrame) -> DataFrame:
        """As the base class says."""
        is_published = (F.col("namespace") == NAMESPACE) & (F.col("name") == PUBLISHED)
        cluster = normal_cluster(metadata("clusterIdentifier"), self.clusters)
        dataset, partition = metadata("datasetUrn"), metadata("partition")
        selected = records.filter(is_published).select(
            cluster.alias("cluster"),
            dataset.alias("dataset"),
            F.lit(None).cast("string").alias("partition_type"),
            F.coalesce(partition, F.lit("")).alias("partition_name"),
            number(metadata("upstreamTimestamp")).alias("upsteam_timestamp"),
            number(metadata("originTimestamp")).alias("origin_timestamp"),
            metadata("SourcePath").alias("source_path"),
            metadata("TargetPath").alias("target_path"),
            *flow_columns("DistcpNG"),
            first_problem(
                missing("clusterIdentifier", cluster),
                missing("datasetUrn", dataset),
                not_a_number("upstreamTimestamp", metadata("upstreamTimestamp")),
                not_a_number("originTimestamp", metadata("originTimestamp")),
                flow_problem(),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)
