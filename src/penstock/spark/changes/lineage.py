"""Column lineage of a transform, derived from Spark's logical plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

Plan = Any
"""Logical plan of Spark, a Java object."""

_KEEPING = frozenset({"Project", "SubqueryAlias", "View", "Window", "WithCTE", "CTERelationDef", "CTERelationRef"})
"""Plan nodes that neither drop nor multiply rows."""


@dataclass(frozen=True)
class Made:
    """Lineage of a column: source columns, and whether the column is an unchanged copy, possibly renamed."""

    sources: frozenset[str]
    is_copy: bool


def made_of(result: DataFrame, rows: DataFrame) -> Mapping[str, Made]:
    """Return the lineage of each column of `result`, a transform of `rows`, by name."""
    found = _Definitions({_id(each): each.name() for each in _each(_plan(rows).output())})
    found.read(_plan(result))
    return {each.name(): found.made(_id(each)) for each in _each(_plan(result).output())}


def keeps_rows(result: DataFrame, rows: DataFrame) -> bool:
    """Whether `result` certainly has exactly one row for each row of `rows`."""
    given = _plan(rows)

    def keeps(plan: Plan) -> bool:
        return plan.equals(given) or (_kind(plan) in _KEEPING and all(map(keeps, _each(plan.children()))))

    return keeps(_plan(result))


def at_most_one_row_each(result: DataFrame, rows: DataFrame) -> bool:
    """Whether `result` certainly has at most one row for each row of `rows`."""
    given = _plan(rows)

    def keeps(plan: Plan) -> bool:
        return plan.equals(given) or (
            _kind(plan) in {*_KEEPING, "Filter", "Sort"} and all(map(keeps, _each(plan.children())))
        )

    return keeps(_plan(result))


def read_by(condition: str, rows: DataFrame) -> frozenset[str]:
    """Return the columns that an SQL condition reads."""
    plan = _plan(rows.filter(condition))
    while _kind(plan) != "Filter":  # conditions may read dropped columns; Spark then adds a projection above the filter
        plan = plan.children().head()
    return frozenset(each.name() for each in _each(plan.condition().references().toSeq()))


@dataclass
class _Definitions:
    """Attributes defined in a plan, each with the referenced attributes. Input columns are known by name."""

    given: Mapping[int, str]
    defined: dict[int, tuple[frozenset[int], bool]] = field(default_factory=dict)

    def read(self, plan: Plan) -> None:
        if {_id(each) for each in _each(plan.output())} == self.given.keys():
            return
        for expression in _each(plan.expressions()):
            if _kind(expression) == "Alias":
                is_copy = _kind(expression.child()) == "AttributeReference"
                self.defined[_id(expression)] = _referred(expression), is_copy
        if _kind(plan) == "Generate":
            for each in _each(plan.generatorOutput()):
                self.defined[_id(each)] = _referred(plan.generator()), False
        for child in _each(plan.children()):
            self.read(child)

    def made(self, attribute: int) -> Made:
        if attribute in self.given:
            return Made(frozenset({self.given[attribute]}), is_copy=True)
        referred, is_copy = self.defined.get(attribute, (frozenset(), False))
        parts = [self.made(each) for each in referred]
        sources = frozenset[str]().union(*(part.sources for part in parts))
        return Made(sources, is_copy and all(part.is_copy for part in parts))


def _plan(rows: DataFrame) -> Plan:
    return rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - no public PySpark API for plans


def _each(sequence: Any) -> Iterator[Any]:  # noqa: ANN401 - a Scala sequence
    return (sequence.apply(index) for index in range(sequence.size()))


def _id(attribute: Any) -> int:  # noqa: ANN401 - a Spark attribute
    return int(attribute.exprId().id())


def _kind(node: Any) -> str:  # noqa: ANN401 - a plan, or an expression
    return str(node.getClass().getSimpleName())


def _referred(expression: Any) -> frozenset[int]:  # noqa: ANN401 - a Spark expression
    return frozenset(_id(each) for each in _each(expression.references().toSeq()))
