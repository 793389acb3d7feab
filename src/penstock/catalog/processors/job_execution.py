"""Executions of jobs, with the datasets that they read and wrote."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import field, first_problem, missing, rows, type_at
from penstock.catalog.processors.identifiers import dataset_urn
from penstock.spark.decoding import KAFKA


class JobExecutionLineageProcessor(Processor):
    """Every execution is kept; only those that succeeded make lineage, which the merge decides."""

    columns: ClassVar = (
        *("application", "flow_name", "job_name", "execution_id", "status", "start_time", "end_time"),
        *("input_datasets", "output_datasets", "log_event_time"),
    )

    def transform(self, records: DataFrame) -> DataFrame:
        """As the base class says."""
        name = field(records, "jobExecution.name")
        execution = F.coalesce(
            field(records, "jobExecution.executionId").cast("string"), field(records, "jobExecution.executionGuid")
        )
        time = field(records, "auditHeader.time").cast("long")
        selected = records.select(
            field(records, "application.name").alias("application"),
            F.coalesce(field(records, "jobExecution.topLevelFlowName"), F.lit("")).alias("flow_name"),
            name.alias("job_name"),
            execution.alias("execution_id"),
            F.coalesce(field(records, "jobExecution.state"), F.lit("SUCCEEDED")).alias("status"),
            _positive(field(records, "jobExecution.startTime")).alias("start_time"),
            _positive(field(records, "jobExecution.endTime")).alias("end_time"),
            _urns(records, "inputDatasetList").alias("input_datasets"),
            _urns(records, "outputDatasetList").alias("output_datasets"),
            time.alias("log_event_time"),
            first_problem(
                missing("application", field(records, "application.name")),
                missing("jobExecution.name", name),
                missing("jobExecution.executionId or executionGuid", execution),
                missing("auditHeader.time", time),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)


def _positive(time: Column) -> Column:
    """A time, unless it is 0 or -1, by which some tell that there is none."""
    return F.when(time.cast("long") > F.lit(0), time.cast("long"))


def _urns(records: DataFrame, name: str) -> Column:
    """The URNs of a list of datasets: the given ones, or those of the identifiers; none if there is no list."""
    found = type_at(records.schema, name)
    if not (isinstance(found, T.ArrayType) and isinstance(found.elementType, T.StructType)):
        return F.lit("[]")
    names = found.elementType.names

    def urn(item: Column) -> Column:
        identified = dataset_urn(item["datasetIdentifier"]) if "datasetIdentifier" in names else F.lit(None)
        if "datasetUrn" not in names:
            return identified.cast("string")
        return F.when(item["datasetUrn"].startswith("urn:li:dataset:("), item["datasetUrn"]).otherwise(identified)

    return F.coalesce(F.to_json(F.array_distinct(F.transform(F.col(name), urn))), F.lit("[]"))
