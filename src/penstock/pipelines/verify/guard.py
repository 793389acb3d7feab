"""Intended effects of a pipeline on the rows of a table, as far as the comparison is concerned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.connect.snapshot import SourceColumn
from penstock.pipelines.verify.values import is_comparable
from penstock.spark.debezium.columns import lake_name
from penstock.spark.protecting import Treatment

_NOT_COMPARED: Mapping[Treatment | None, str] = {"drop": "left out by the pipeline", "mask": "masked by the pipeline"}
_SAME_TEXT = frozenset(
    {"text", "varchar", "name", "citext", "uuid", "json", "jsonb", "int2", "int4", "int8", "bool", "date"}
)
"""Types with identical text in the database and in the hashed value."""


@dataclass(frozen=True)
class Passage:
    """Effect of transforms: each column's resulting name, or None if the value is changed or removed.

    Without `keeps_rows`, rows may be filtered out.
    """

    names: Mapping[str, str | None] = field(default_factory=dict)
    keeps_rows: bool = True

    def name(self, column: str) -> str | None:
        """Return the resulting name of a column. Unknown columns keep their name."""
        return self.names.get(column, column)


@dataclass(frozen=True)
class Guard:
    """Expected effects: treatment by column name, hash function for texts, and passage of rows."""

    treatment: Callable[[str], Treatment | None]
    hashed: Callable[[str], str]
    passage: Passage = Passage()

    def reason_against(self, column: SourceColumn) -> str:
        """Return why a column is not compared; empty for compared columns."""
        if column.is_generated:
            return "generated, which PostgreSQL does not send"
        treatment = self.treatment(column.name)
        if treatment in _NOT_COMPARED:
            return _NOT_COMPARED[treatment]
        if self.passage.name(lake_name(column.name)) is None:
            return "changed or left out by a transform"
        if treatment == "hash":
            has_text = not column.is_array and (column.is_enum or column.type in _SAME_TEXT)
            return "" if has_text else f"{column.type}, hashed by the pipeline"
        return "" if is_comparable(column) else column.type

    def stored_name(self, column: SourceColumn) -> str:
        """Return the lake's name of a compared column."""
        own = lake_name(column.name)
        return self.passage.name(own) or own


OPEN = Guard(lambda _: None, str)
