"""Delta's MERGE, UPDATE and DELETE with column expressions: no value, name or path becomes SQL text.

Spark replaces `${…}` in SQL text, and values may contain quotes and any other characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from penstock.spark.decoding import quoted

STORED: Final = "t"
CHANGE: Final = "s"


def stored(name: str) -> Column:
    """Return a column of the target table in a merge."""
    return F.col(f"{STORED}.{quoted(name)}")


def changed(name: str) -> Column:
    """Return a column of the merged rows."""
    return F.col(f"{CHANGE}.{quoted(name)}")


@dataclass(frozen=True)
class Clause:
    """Action of a merge on rows that are in the table (`update`, `delete`) or are not (`insert`)."""

    action: Literal["update", "delete", "insert"]
    when: Column | None = None
    values: Mapping[str, Column] | None = None


@dataclass(frozen=True)
class DeltaRows:
    """Rows of the Delta table at a path."""

    session: SparkSession
    path: str

    def merge(self, rows: DataFrame, on: Column, clauses: Sequence[Clause]) -> None:
        """Merge rows into the table. For each row, the first clause with a true condition applies."""
        merging = self._table().alias(STORED).merge(_java(rows.alias(CHANGE)), _java(on))
        for clause in clauses:
            is_insert = clause.action == "insert"
            condition = [] if clause.when is None else [_java(clause.when)]
            matched = merging.whenNotMatched(*condition) if is_insert else merging.whenMatched(*condition)
            values = [] if clause.action == "delete" else [self._values(clause.values or {})]
            merging = getattr(matched, clause.action)(*values)
        merging.execute()

    def update(self, where: Column, values: Mapping[str, Column]) -> None:
        """Set columns of the rows that satisfy a condition."""
        self._table().update(_java(where), self._values(values))

    def delete(self, where: Column) -> None:
        """Delete the rows that satisfy a condition."""
        self._table().delete(_java(where))

    def commits(self, limit: int) -> DataFrame:
        """Return the newest commits of the table, in the form of `DESCRIBE HISTORY`."""
        return DataFrame(self._table().history(limit), self.session)

    def _table(self) -> Any:  # noqa: ANN401 - a Java object
        java: Any = self.session._jvm  # noqa: SLF001 - Delta's Python API is a separate package
        return java.io.delta.tables.DeltaTable.forPath(self.session._jsparkSession, self.path)  # noqa: SLF001 - as above

    def _values(self, values: Mapping[str, Column]) -> Any:  # noqa: ANN401 - a Java map
        java: Any = self.session._jvm  # noqa: SLF001 - as above
        found = java.java.util.LinkedHashMap()
        for name, value in values.items():
            found.put(quoted(name), _java(value))
        return found


def _java(each: Any) -> Any:  # noqa: ANN401 - rows or a column
    """Return the Java object behind rows or a column."""
    return each._jdf if isinstance(each, DataFrame) else each._jc  # noqa: SLF001 - no public PySpark API
