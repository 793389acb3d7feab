"""Carry the origin of rows through a transform that does not mention it.

For example, `SELECT a, b FROM source` drops the column `_kafka`. The column can be added again without changing the
transform's meaning if every output row comes from exactly one input row: the plan is then a chain of projections,
filters and similar operators. Grouped or united rows have no single origin, so none is added.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from penstock.spark.decoding import KAFKA

Plan = Any
"""A logical plan of Spark, a Java object."""

_ROW_BY_ROW = {"Filter", "Sort", "GlobalLimit", "LocalLimit", "SubqueryAlias", "ResolvedHint"}


def with_origin(rows: DataFrame) -> DataFrame:
    """Add the column `_kafka` to the rows if possible; otherwise return the rows unchanged."""
    if KAFKA in rows.columns:
        return rows
    java: Any = rows.sparkSession._jvm  # noqa: SLF001 - PySpark has no public way to plans
    inlined = java.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False)
    plan = _carrying(java, inlined.apply(rows._jdf.queryExecution().analyzed()))  # noqa: SLF001 - as above
    if plan is None:
        return rows
    carried = java.org.apache.spark.sql.classic.Dataset.ofRows(rows.sparkSession._jsparkSession, plan)  # noqa: SLF001 - as above
    return DataFrame(carried, rows.sparkSession)


def _carrying(java: Any, plan: Plan) -> Plan | None:  # noqa: ANN401 - the gateway to Java
    """Return the plan with `_kafka` in its output, or None if the column cannot be added."""
    if _origin_of(plan) is not None:
        return plan
    kind = plan.getClass().getSimpleName()
    if kind != "Project" and kind not in _ROW_BY_ROW:
        return None
    child = _carrying(java, plan.children().head())
    if child is None:
        return None
    if kind == "Project":
        columns = plan.projectList().appended(_origin_of(child))
        return java.org.apache.spark.sql.catalyst.plans.logical.Project(columns, child)
    return plan.withNewChildren(plan.children().take(0).appended(child))


def _origin_of(plan: Plan) -> Any | None:  # noqa: ANN401 - one of Spark's attributes
    output = plan.output()
    found = (output.apply(index) for index in range(output.size()))
    return next((attribute for attribute in found if attribute.name() == KAFKA), None)
