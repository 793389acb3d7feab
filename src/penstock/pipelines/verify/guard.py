"""What a pipeline does to the rows of a table on purpose, as far as comparing goes."""

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
"""Types whose text is the same in the database and in what was hashed."""


@dataclass(frozen=True)
class Passage:
    """How transforms let rows pass: columns by their names afterwards, None for those that do not come out as they are.

    Without `keeps_rows`, rows may be left out.
    """

    names: Mapping[str, str | None] = field(default_factory=dict)
    keeps_rows: bool = True

    def name(self, column: str) -> str | None:
        """What a column is called afterwards; one that was never seen has its own name."""
        return self.names.get(column, column)


@dataclass(frozen=True)
class Guard:
    """What becomes of a column, by its name, of a text of one that is hashed, and of rows on their way."""

    treatment: Callable[[str], Treatment | None]
    hashed: Callable[[str], str]
    passage: Passage = Passage()

    def reason_against(self, column: SourceColumn) -> str:
        """Why a column is not compared; nothing if it is."""
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
        """What a column that is compared is called in the lake."""
        own = lake_name(column.name)
        return self.passage.name(own) or own


OPEN = Guard(lambda _: None, str)
