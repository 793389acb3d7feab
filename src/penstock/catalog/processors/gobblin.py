"""Common parts of Gobblin's tracking events: `timestamp`, `namespace`, `name` and a map of metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.catalog.processors.columns import not_a_number, number
from penstock.spark.decoding import KAFKA

FLOW_COLUMNS = ("job_context", "project_name", "flow_name", "job_name", "flow_exec_id", "log_event_time")
_FLOW_KEYS = ("azkabanProjectName", "azkabanFlowId", "azkabanJobId", "azkabanExecId")


def told(records: DataFrame, is_wanted: Column, *keys: str) -> DataFrame:
    """Return the matching events with name, timestamp, and the values of these metadata keys as columns.

    A missing or empty value is null. Each value is a separate column, so that Spark extracts the value once.
    """
    return records.filter(is_wanted).select("name", "timestamp", *_values(keys), KAFKA)


@cache
def _values(keys: Sequence[str]) -> list[Column]:
    return [metadata(key).alias(key) for key in (*keys, *_FLOW_KEYS)]


def other_events(is_wanted: Column) -> Mapping[str, Column]:
    """Return the reason for events that do not match."""
    return {"events of another kind": ~F.coalesce(is_wanted, F.lit(False))}


def metadata(key: str) -> Column:
    """Return a value of an event's metadata; null if missing or empty."""
    return F.nullif(F.trim(F.try_element_at(F.col("metadata"), F.lit(key))), F.lit(""))


def flow_columns(context: str) -> list[Column]:
    """Return the columns of the flow execution that sent the event. The execution number may be null."""
    return [
        F.concat(F.lit(f"{context}:"), F.col("name")).alias("job_context"),
        F.col("azkabanProjectName").alias("project_name"),
        F.col("azkabanFlowId").alias("flow_name"),
        F.col("azkabanJobId").alias("job_name"),
        number(F.col("azkabanExecId")).alias("flow_exec_id"),
        F.col("timestamp").alias("log_event_time"),
    ]


def flow_problem() -> Column:
    """Return the problem of an execution number that is not a number."""
    return not_a_number("azkabanExecId", F.col("azkabanExecId"))


def group(text: Column, pattern: str, index: int) -> Column:
    """Return a group of a regular expression; null if the text does not match."""
    return F.nullif(F.regexp_extract(text, pattern, index), F.lit(""))
