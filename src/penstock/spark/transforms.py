"""The built-in transforms: functions from rows to rows, which read and write nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from penstock.spark.changes.following import chosen, following
from penstock.spark.debezium.shape_rows import CDC

Transform = Callable[[DataFrame], DataFrame]

SOURCE = "source"
"""The name of the input in SQL."""

_naming = threading.Lock()


def sql(query: str) -> Transform:
    """Any Spark SQL over `source`."""

    def transform(rows: DataFrame) -> DataFrame:
        # Queries that share a session must not take each other's rows for theirs.
        with _naming:
            rows.createOrReplaceTempView(SOURCE)
            return rows.sparkSession.sql(query)

    return following(transform)


def keep(condition: str) -> Transform:
    """The rows for which a condition of SQL holds; of changes, those that make the table of these rows."""
    return lambda rows: chosen(rows, condition) if CDC in rows.columns else rows.filter(condition)


def select(expressions: Sequence[str]) -> Transform:
    """These columns or expressions of SQL."""
    return following(lambda rows: rows.selectExpr(*expressions))


def drop(columns: Sequence[str]) -> Transform:
    """All columns but these."""
    return lambda rows: rows.drop(*columns)


def rename(names: Mapping[str, str]) -> Transform:
    """The columns under other names, given as old to new."""
    return following(lambda rows: rows.withColumnsRenamed(dict(names)))


def chain(transforms: Sequence[Transform]) -> Transform:
    """One after the other."""

    def transform(rows: DataFrame) -> DataFrame:
        for each in transforms:
            rows = each(rows)
        return rows

    return transform
