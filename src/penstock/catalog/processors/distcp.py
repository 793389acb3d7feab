"""Processor of Gobblin's distributed copies: published partitions with source and target."""

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
from penstock.catalog.processors.gobblin import FLOW_COLUMNS, flow_columns, flow_problem, other_events, told
from penstock.spark.decoding import KAFKA

NAMESPACE: Final = "gobblin.copy.CopyDataPublisher"
PUBLISHED: Final = "DatasetPublished"

_KEYS = (
    *("clusterIdentifier", "datasetUrn", "partition"),
    *("upstreamTimestamp", "originTimestamp", "SourcePath", "TargetPath"),
)


class GobblinTrackingDistcpNgProcessor(Processor):
    """Reads `DatasetPublished`. The partition is stored unchanged, such as `["2016-07-10-00"]`."""

    columns: ClassVar = (
        *("cluster", "dataset", "partition_type", "partition_name", "upsteam_timestamp", "origin_timestamp"),
        *("source_path", "target_path", *FLOW_COLUMNS),
    )

    def left_out(self) -> Mapping[str, Column]:
        """Return the reason for events that are not publications."""
        return other_events(_is_published())

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per published dataset."""
        return rows(told(records, _is_published(), *_KEYS).select(*self._row), self.columns)

    @cached_property
    def _row(self) -> list[Column]:
        cluster = normal_cluster(F.col("clusterIdentifier"), self.clusters)
        dataset, partition = F.col("datasetUrn"), F.col("partition")
        return [
            cluster.alias("cluster"),
            dataset.alias("dataset"),
            F.lit(None).cast("string").alias("partition_type"),
            F.coalesce(partition, F.lit("")).alias("partition_name"),
            number(F.col("upstreamTimestamp")).alias("upsteam_timestamp"),
            number(F.col("originTimestamp")).alias("origin_timestamp"),
            F.col("SourcePath").alias("source_path"),
            F.col("TargetPath").alias("target_path"),
            *flow_columns("DistcpNG"),
            first_problem(
                missing("clusterIdentifier", cluster),
                missing("datasetUrn", dataset),
                not_a_number("upstreamTimestamp", F.col("upstreamTimestamp")),
                not_a_number("originTimestamp", F.col("originTimestamp")),
                flow_problem(),
            ),
            F.col(KAFKA),
        ]


@cache
def _is_published() -> Column:
    return (F.col("namespace") == NAMESPACE) & (F.col("name") == PUBLISHED)
