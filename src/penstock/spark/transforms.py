"""The built-in transforms: functions from rows to rows, without side effects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.changes.following import chosen, following
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.sql_check import require_expressions, require_query

Transform = Callable[[DataFrame], DataFrame]

SOURCE = "source"
"""The name of the input in SQL."""

_naming = threading.Lock()


def sql(query: str) -> Transform:
    """Return a transform for a Spark SQL query over `source`."""
    require = _once(partial(require_query, query=query))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        # Queries that share a session must not read the rows of a concurrent query.
        with _naming:
            rows.createOrReplaceTempView(SOURCE)
            return rows.sparkSession.sql(query)

    return following(transform)


def keep(condition: str) -> Transform:
    """Keep the rows that satisfy an SQL condition.

    Changes are converted into the changes of the filtered table.
    """
    require = _once(partial(require_expressions, expressions=(condition,)))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        return chosen(rows, condition) if CDC in rows.columns else rows.filter(condition)

    return transform


def select(expressions: Sequence[str]) -> Transform:
    """Select columns or SQL expressions."""
    require = _once(partial(require_expressions, expressions=tuple(expressions)))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        return rows.selectExpr(*expressions)

    return following(transform)


def drop(columns: Sequence[str]) -> Transform:
    """Drop columns."""
    return lambda rows: rows.drop(*columns)


def rename(names: Mapping[str, str]) -> Transform:
    """Rename columns; `names` maps old names to new names."""
    return following(lambda rows: rows.withColumnsRenamed(dict(names)))


def chain(transforms: Sequence[Transform]) -> Transform:
    """Apply transforms in order."""

    def transform(rows: DataFrame) -> DataFrame:
        for each in transforms:
            rows = each(rows)
        return rows

    return transform


def _once(check: Callable[[SparkSession], None]) -> Callable[[DataFrame], None]:
    """Check the SQL of a transform before the first use."""
    passed = threading.Event()

    def run(rows: DataFrame) -> None:
        if not passed.is_set():
            check(rows.sparkSession)
            passed.set()

    return run
