"""Processor of job executions, with the datasets that were read and written."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import field, first_problem, missing, rows, type_at
from penstock.catalog.processors.identifiers import urns_at
from penstock.spark.decoding import KAFKA

_NAMES = ("jobExecution.name", "jobExecution.jobName")
_FLOWS = ("jobExecution.topLevelFlowName", "jobExecution.flowName")
_IDS = ("jobExecution.executionId", "jobExecution.jobExecutionId", "jobExecution.executionGuid")
_SIDES = {"sourceDataset": "inputDatasetList", "destinationDataset": "outputDatasetList"}
_STATES = ("jobExecution.state", "jobExecution.status")


class JobExecutionLineageProcessor(Processor):
    """Stores every execution. The merge derives lineage from successful executions only.

    The second form of the event has different names, and `lineage`: pairs of lists, which are concatenated. The
    application is the `type`, or else the sender of the event.
    """

    columns: ClassVar = (
        *("application", "flow_name", "job_name", "execution_id", "status", "start_time", "end_time"),
        *("input_datasets", "output_datasets", "log_event_time"),
    )

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per execution."""
        records = _with_lists(records)
        name, execution = _text(records, *_NAMES), _text(records, *_IDS)
        application, time = _application(records), field(records, "auditHeader.time").cast("long")
        selected = records.select(
            application.alias("application"),
            F.coalesce(_text(records, *_FLOWS), F.lit("")).alias("flow_name"),
            name.alias("job_name"),
            execution.alias("execution_id"),
            F.coalesce(_text(records, *_STATES), F.lit("SUCCEEDED")).alias("status"),
            _positive(field(records, "jobExecution.startTime")).alias("start_time"),
            _positive(field(records, "jobExecution.endTime")).alias("end_time"),
            F.coalesce(urns_at(records, "inputDatasetList"), F.lit("[]")).alias("input_datasets"),
            F.coalesce(urns_at(records, "outputDatasetList"), F.lit("[]")).alias("output_datasets"),
            time.alias("log_event_time"),
            first_problem(
                missing("application", application),
                missing("jobExecution.name", name),
                missing("jobExecution.executionId or executionGuid", execution),
                missing("auditHeader.time", time),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)


class MetadataLineageProcessor(JobExecutionLineageProcessor):
    """Alias with the name that later versions of WhereHows use."""


def _text(records: DataFrame, *paths: str) -> Column:
    """Return the first existing field as text. Numbers and texts are interchangeable."""
    return F.coalesce(*(field(records, path).cast("string") for path in paths))


def _application(records: DataFrame) -> Column:
    kind = F.nullif(field(records, "type").cast("string"), F.lit("UNUSED"))
    return F.coalesce(field(records, "application.name"), kind, field(records, "auditHeader.appName"))


def _positive(time: Column) -> Column:
    """Return a positive time, else null. Some senders write 0 or -1 for a missing time."""
    return F.when(time.cast("long") > F.lit(0), time.cast("long"))


def _with_lists(records: DataFrame) -> DataFrame:
    """Return the records with the `lineage` of the second form as the two lists of the first form."""
    lineage = type_at(records.schema, "lineage")
    element = lineage.elementType if isinstance(lineage, T.ArrayType) else None
    sides = element.names if isinstance(element, T.StructType) else []
    lists = {name: F.flatten(F.col(f"lineage.{side}")) for side, name in _SIDES.items() if side in sides}
    return records.withColumns(lists) if lists else records
