"""Processor of Hive metastore audits: created, altered and dropped tables and partitions."""

from __future__ import annotations

from typing import ClassVar, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import field, first_problem, missing, normal_cluster, rows
from penstock.spark.decoding import KAFKA

TABLE: Final = "metastoreTableAuditContent"
PARTITION: Final = "metastorePartitionAuditContent"


class MetastoreAuditProcessor(Processor):
    """Reads table and partition events. Uses the new state, or the old state if the object was dropped."""

    columns: ClassVar = (
        *("server", "instance", "app_name", "event_name", "event_type", "log_event_time", "metastore_thrift_uri"),
        *("metastore_version", "is_successful", "is_data_deleted", "db_name", "table_name", "time_partition"),
        *("location", "owner", "create_time", "last_access_time"),
    )

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per table or partition event."""

        def content(name: str) -> Column:
            return field(records, f"{TABLE}.{name}", f"{PARTITION}.{name}")

        def state(name: str) -> Column:
            news = (f"{TABLE}.newTable.{name}", f"{PARTITION}.newPartition.{name}")
            return field(records, *news, f"{TABLE}.oldTable.{name}", f"{PARTITION}.oldPartition.{name}")

        values = field(records, f"{PARTITION}.newPartition.values", f"{PARTITION}.oldPartition.values")
        is_table = field(records, f"{TABLE}.eventType").isNotNull()
        selected = records.select(
            normal_cluster(field(records, "auditHeader.server"), self.clusters).alias("server"),
            F.coalesce(field(records, "auditHeader.instance"), F.lit("")).alias("instance"),
            field(records, "auditHeader.appName").alias("app_name"),
            F.when(is_table, F.lit("MetastoreTableAuditEvent"))
            .otherwise(F.lit("MetastorePartitionAuditEvent"))
            .alias("event_name"),
            content("eventType").cast("string").alias("event_type"),
            F.coalesce(content("timestamp").cast("long"), field(records, "auditHeader.time").cast("long")).alias(
                "log_event_time"
            ),
            content("metastoreThriftUri").alias("metastore_thrift_uri"),
            content("metastoreVersion").alias("metastore_version"),
            content("isSuccessful").alias("is_successful"),
            content("isDataDeleted").alias("is_data_deleted"),
            state("dbName").alias("db_name"),
            state("tableName").alias("table_name"),
            F.coalesce(_text(records, values), F.lit("?")).alias("time_partition"),
            state("location").alias("location"),
            field(records, f"{TABLE}.newTable.owner", f"{TABLE}.oldTable.owner").alias("owner"),
            state("createTime").cast("long").alias("create_time"),
            state("lastAccessTime").cast("long").alias("last_access_time"),
            first_problem(
                missing("content of a table or partition", content("eventType")),
                missing("dbName", state("dbName")),
                missing("tableName", state("tableName")),
                missing("server", field(records, "auditHeader.server")),
                missing("appName", field(records, "auditHeader.appName")),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)


def _text(records: DataFrame, values: Column) -> Column:
    """Return a partition's values as JSON, such as `["2016-07-10-00"]`; null for a table's event."""
    return F.to_json(values) if PARTITION in records.columns else values
