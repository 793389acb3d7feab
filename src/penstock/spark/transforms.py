"""The built-in transforms: functions from rows to rows, which read and write nothing."""

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
    """A query of Spark SQL over `source`."""
    require = _once(partial(require_query, query=query))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        # Queries that share a session must not take each other's rows for theirs.
        with _naming:
            rows.createOrReplaceTempView(SOURCE)
            return rows.sparkSession.sql(query)

    return following(transform)


def keep(condition: str) -> Transform:
    """The rows for which a condition of SQL holds; of changes, those that make the table of these rows."""
    require = _once(partial(require_expressions, expressions=(condition,)))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        return chosen(rows, condition) if CDC in rows.columns else rows.filter(condition)

    return transform


def select(expressions: Sequence[str]) -> Transform:
    """These columns or expressions of SQL."""
    require = _once(partial(require_expressions, expressions=tuple(expressions)))

    def transform(rows: DataFrame) -> DataFrame:
        require(rows)
        return rows.selectExpr(*expressions)

    return following(transform)


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


def _once(check: Callable[[SparkSession], None]) -> Callable[[DataFrame], None]:
    """Check the SQL of a transform before it is used for the first time."""
    passed = threading.Event()

    def run(rows: DataFrame) -> None:
        if not passed.is_set():
            check(rows.sparkSession)
            passed.set()

    return run
