"""What a pipeline does to columns that must not be seen, as far as comparing goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.connect.snapshot import SourceColumn
from penstock.pipelines.verify.values import is_comparable
from penstock.spark.protecting import Treatment

_NOT_COMPARED: Mapping[Treatment | None, str] = {"drop": "left out by the pipeline", "mask": "masked by the pipeline"}
_SAME_TEXT = frozenset(
    {"text", "varchar", "name", "citext", "uuid", "json", "jsonb", "int2", "int4", "int8", "bool", "date"}
)
"""Types whose text is the same in the database and in what was hashed."""


@dataclass(frozen=True)
class Guard:
    """What becomes of a column, by its name, and of a text of one that is hashed."""

    treatment: Callable[[str], Treatment | None]
    hashed: Callable[[str], str]

    def reason_against(self, column: SourceColumn) -> str:
        """Why a column is not compared; nothing if it is."""
        treatment = self.treatment(column.name)
        if treatment == "hash":
            has_text = not column.is_array and (column.is_enum or column.type in _SAME_TEXT)
            return "" if has_text else f"{column.type}, hashed by the pipeline"
        return _NOT_COMPARED.get(treatment, "" if is_comparable(column) else column.type)


OPEN = Guard(lambda _: None, str)
