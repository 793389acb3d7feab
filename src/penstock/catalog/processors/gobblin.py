"""What all of Gobblin's tracking events have in common: `timestamp`, `namespace`, `name` and a map of metadata."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.columns import metadata, not_a_number, number

FLOW_COLUMNS = ("job_context", "project_name", "flow_name", "job_name", "flow_exec_id", "log_event_time")


def flow_columns(context: str) -> list[Column]:
    """Which execution of which flow sent the event; an execution without a number is kept, without one."""
    return [
        F.concat(F.lit(f"{context}:"), F.col("name")).alias("job_context"),
        metadata("azkabanProjectName").alias("project_name"),
        metadata("azkabanFlowId").alias("flow_name"),
        metadata("azkabanJobId").alias("job_name"),
        number(metadata("azkabanExecId")).alias("flow_exec_id"),
        F.col("timestamp").alias("log_event_time"),
    ]


def flow_problem() -> Column:
    """What is wrong with the execution's number."""
    return not_a_number("azkabanExecId", metadata("azkabanExecId"))


def group(text: Column, pattern: str, index: int) -> Column:
    """A part of a text by a regular expression; null if it does not match."""
    return F.nullif(F.regexp_extract(text, pattern, index), F.lit(""))
