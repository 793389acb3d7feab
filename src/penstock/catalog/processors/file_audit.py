"""Processor of file audits: owners, storage properties and classification of files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
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
from penstock.catalog.processors.gobblin import metadata, other_events, told
from penstock.spark.decoding import KAFKA

CLASSIFIER: Final = "MetadataFileClassifier"

_TEMPORARY = r"(\b|_)(temporary|temp|tmp|staging|stg)(\b|_)|_distcp_|/output/"
"""WhereHows' words, matched as whole words in lower case: `/data/postgresql` and `/data/Staging` are not temporary."""

_PROPERTIES = {
    "group": "group",
    "file_permission": "permission",
    "codec": "codec",
    "storage": "storage",
    "abstract_path": "abstractPath",
}
_KEYS = ("dataset", "modificationTime", "cluster", "owner", "classificationResult", *_PROPERTIES.values())


class GobblinTrackingAuditProcessor(Processor):
    """Reads `MetadataFileClassifier` events, except for temporary folders."""

    columns: ClassVar = ("cluster", "dataset", "owner", "properties", "source_modified_time", "log_event_time")

    def left_out(self) -> Mapping[str, Column]:
        """Return the reasons for events of another kind, and for temporary datasets."""
        is_audit = F.col("name") == CLASSIFIER
        return {**other_events(is_audit), "temporary datasets": is_audit & _is_temporary(metadata("dataset"))}

    def transform(self, records: DataFrame) -> DataFrame:
        """Return a row per audited dataset, without temporary datasets."""
        events = told(records, F.col("name") == CLASSIFIER, *_KEYS).filter(~_is_temporary(F.col("dataset")))
        return rows(events.select(*self._row), self.columns)

    @cached_property
    def _row(self) -> list[Column]:
        dataset, modified = F.col("dataset"), F.col("modificationTime")
        return [
            normal_cluster(F.col("cluster"), self.clusters).alias("cluster"),
            dataset.alias("dataset"),
            F.col("owner").alias("owner"),
            F.to_json(self._properties()).alias("properties"),
            F.floor(number(modified) / F.lit(1000)).alias("source_modified_time"),
            F.col("timestamp").alias("log_event_time"),
            first_problem(missing("dataset", dataset), not_a_number("modificationTime", modified)),
            F.col(KAFKA),
        ]

    def _properties(self) -> Column:
        found = F.nullif(F.col("classificationResult"), F.lit("null")).alias("classification")
        cluster = normal_cluster(F.col("cluster"), self.clusters).alias("cluster")
        return F.struct(*(F.col(key).alias(name) for name, key in _PROPERTIES.items()), cluster, found)


def _is_temporary(dataset: Column) -> Column:
    return F.coalesce(dataset.rlike(_TEMPORARY), F.lit(False))
