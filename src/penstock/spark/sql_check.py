"""Decide from the parsed SQL, without executing it, whether the SQL is a query over the input rows.

Spark executes commands (`SET`, `INSERT`, `CREATE`) during analysis, `TRANSFORM … USING` starts processes, and `reflect`
calls any Java method. Therefore the allowed operators are listed, and all others are rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from penstock.errors import QueryFailed
from penstock.spark.failures import spark_failures

_OPERATORS: Final = frozenset(
    {
        "Aggregate", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Generate",
        "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit", "LocalRelation", "Offset", "PipeOperator",
        "OneRowRelation", "Pivot", "Project", "Range", "RebalancePartitions", "Repartition",
        "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail", "Union", "UnionLoop",
        "UnionLoopRef", "Unpivot", "UnresolvedHaving", "UnresolvedHint", "UnresolvedInlineTable",
        "UnresolvedRelation", "UnresolvedSubqueryColumnAliases", "UnresolvedTableValuedFunction",
        "UnresolvedWith", "Window", "WithWindowDefinition",
    }
)  # fmt: skip
_TABLE_FUNCTIONS: Final = frozenset(
    {
        "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode",
        "posexplode_outer", "range", "stack", "variant_explode", "variant_explode_outer",
    }
)  # fmt: skip
_JAVA_CALLS: Final = frozenset({"java_method", "reflect", "try_reflect"})
_FILE_READERS: Final = frozenset({"from_protobuf", "to_protobuf"})
_OPERATOR: Final = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_HINT: Final = "a transform is one query over `source`; what is beyond that is for a python transform"


class _Node(NamedTuple):
    java: Any
    kind: str
    is_operator: bool


def require_query(session: SparkSession, query: str) -> None:
    """Reject SQL that is not a query over `source`, or that calls Java methods."""
    with spark_failures("reading the SQL"):
        plan = _parser(session).parsePlan(query)
    _require(session, plan)


def require_expressions(session: SparkSession, expressions: Collection[str]) -> None:
    """Reject expressions that read other tables or call Java methods."""
    for each in expressions:
        with spark_failures("reading the SQL"):
            expression = _parser(session).parseExpression(each)
        _require(session, expression)


def _parser(session: SparkSession) -> Any:  # noqa: ANN401 - a Java object
    return session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - PySpark has no public way to the parser


def _require(session: SparkSession, tree: JavaObject) -> None:
    for node in _nodes(session, tree):
        why = _objection(node)
        if why:
            raise QueryFailed(f"the SQL {why}", hint=_HINT)


def _objection(node: _Node) -> str | None:
    match node.kind:
        case "UnresolvedFunction":
            name = str(node.java.nameParts().last()).lower()
            return f"calls {name}" if name in _JAVA_CALLS | _FILE_READERS else None
        case "UnresolvedTableValuedFunction":
            name = str(node.java.name().last()).lower()
            return None if name in _TABLE_FUNCTIONS else f"reads the table function {name}"
        case "UnresolvedRelation":
            parts = node.java.multipartIdentifier()
            return f"reads {parts.mkString('.')}" if parts.size() > 1 else None
        case "ExpressionWithUnresolvedIdentifier" | "PlanWithUnresolvedIdentifier":
            return "makes names at run time"
        case kind if node.is_operator and kind not in _OPERATORS:
            return f"is more than a query: it has {kind}"
        case _:
            return None


def _nodes(session: SparkSession, tree: JavaObject) -> Iterator[_Node]:
    """Yield every node of a tree, including nested lists, maps and options: operators, expressions, names."""
    is_a = session._jvm.py4j.reflection.TypeUtil.isInstanceOf  # type: ignore[union-attr]  # noqa: SLF001 - as above
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, JavaObject):
            continue
        if is_a("scala.collection.Iterable", node):
            items = node.iterator()
        elif is_a("scala.Product", node):
            yield _Node(node, str(node.getClass().getSimpleName()), bool(is_a(_OPERATOR, node)))
            items = node.productIterator()
        else:
            continue
        while items.hasNext():
            waiting.append(items.next())
