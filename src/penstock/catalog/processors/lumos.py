"""Processor of Lumos' publications of database tables: snapshots, and deltas on top of them."""

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

SNAPSHOT: Final = "SnapshotPublished"
DELTA: Final = "DeltaPublished"

YEAR_2000_MS: Final = 946_684_800_000
YEAR_2100_MS: Final = 4_102_444_800_000
"""A number in this range is a time in milliseconds. WhereHows only accepted times of 2016."""

_COLO = r"^(\w+)-(\w+)$"
_VERSION = r"(\d+)-\w+-\d+"
_VERSION_FOLDER = r"^.*/(\d+-\w+-\d+)/.*$"
_KEYS = (
    *("clusterIdentifier", "datasetUrn", "partition", "TargetDirectory", "DatasourceColo"),
    *("recordCount", "Database", "Table", "Dropdate"),
)


class GobblinTrackingLumosProcessor(Processor):
    """Reads `SnapshotPublished` and `DeltaPublished`, with folders named `<time or key>-<kind>-<number>`."""

    columns: ClassVar = (
        *(
            "cluster",
            "dataset",
            "location",
            "partition_type",
            "partition_name",
            "subpartition_type",
            "subpartition_name",
        ),
        *("max_data_date_epoch3", "max_data_key", "record_count", "source_datacenter", "source_deployment_env"),
        *("source_database", "source_table", *FLOW_COLUMNS),
    )

    def left_out(self) -> Mapping[str, Column]:
        """Return the reason for events that are not publications."""
        return other_events(_is_publication())

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per publication."""
        return rows(told(records, _is_publication(), *_KEYS).select(*self._row), self.columns)

    @cached_property
    def _row(self) -> list[Column]:
        is_delta = F.col("name") == DELTA
        partition, target, colo = F.col("partition"), F.col("TargetDirectory"), F.col("DatasourceColo")
        cluster = normal_cluster(F.col("clusterIdentifier"), self.clusters)
        return [
            cluster.alias("cluster"),
            F.col("datasetUrn").alias("dataset"),
            F.coalesce(target, F.lit("")).alias("location"),
            F.lit("snapshot").alias("partition_type"),
            F.when(is_delta, group(target, _VERSION_FOLDER, 1)).otherwise(partition).alias("partition_name"),
            F.when(is_delta, F.lit("_delta")).alias("subpartition_type"),
            F.when(is_delta, partition).alias("subpartition_name"),
            data_time(F.when(is_delta, partition).otherwise(target)).alias("max_data_date_epoch3"),
            data_key(partition).alias("max_data_key"),
            number(F.col("recordCount")).alias("record_count"),
            F.coalesce(group(colo, _COLO, 2), colo).alias("source_datacenter"),
            group(colo, _COLO, 1).alias("source_deployment_env"),
            F.col("Database").alias("source_database"),
            F.col("Table").alias("source_table"),
            *flow_columns("Lumos"),
            first_problem(
                missing("clusterIdentifier", cluster),
                missing("datasetUrn", F.col("datasetUrn")),
                not_a_number("recordCount", F.col("recordCount")),
                not_a_number("Dropdate", F.col("Dropdate")),
                flow_problem(),
            ),
            F.col(KAFKA),
        ]


@cache
def _is_publication() -> Column:
    return F.col("namespace").isNotNull() & F.col("name").isin(SNAPSHOT, DELTA)


def data_time(folder: Column) -> Column:
    """Return the time up to which data exists: Dropdate if valid as a time, else the number in the folder's name."""
    dropped = number(F.col("Dropdate"))
    return F.when(_is_time(dropped), dropped).otherwise(F.coalesce(number(group(folder, _VERSION, 1)), dropped))


def data_key(partition: Column) -> Column:
    """Return the key up to which data exists: the number in the partition's name; 0 for a time or no number."""
    key = number(group(partition, _VERSION, 1))
    # Compare in seconds instead of multiplying the key: a large key times 1000 would overflow.
    is_time = _is_time(key) | key.between(YEAR_2000_MS // 1000, YEAR_2100_MS // 1000)
    return F.when(key.isNull() | is_time, F.lit(0)).otherwise(key).cast("long")


def _is_time(milliseconds: Column) -> Column:
    return milliseconds.between(YEAR_2000_MS, YEAR_2100_MS)
