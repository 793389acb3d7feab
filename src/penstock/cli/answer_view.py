"""Display of query results: as a table, row by row if a table is too wide, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from rich.table import Column

from penstock.cli.output import out, right, show_table, text
from penstock.lake.engine import Answer
from penstock.schemas.to_json import to_json

Row = tuple[Any, ...]

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_LEAST_WIDTH = 6


class Shown(NamedTuple):
    """Rows to show, and whether more rows exist."""

    rows: list[Row]
    more: bool


def first_rows(answer: Answer, limit: int) -> Shown:
    """Return the first rows of a result; all rows if the limit is 0."""
    rows = (
        row for batch in answer.batches() for row in zip(*(each.to_pylist() for each in batch.columns), strict=True)
    )
    taken = list(islice(rows, limit + 1 if limit else None))
    return Shown(taken[:limit], more=True) if limit and len(taken) > limit else Shown(taken, more=False)


def show_rows(columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> None:
    """Print rows as a table. If the terminal is too narrow, print each row separately."""
    if len(columns) * (_LEAST_WIDTH + 1) <= out.width:
        show_table([_column(*column) for column in columns], ([cell(value) for value in row] for row in rows))
        return
    for number, row in enumerate(rows, 1):
        cells = [(text(name), cell(value)) for (name, _), value in zip(columns, row, strict=True)]
        show_table(("", ""), cells, title=f"row {number}")


def rows_json(columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return rows as objects. Repeated column names get a number."""
    names = _unique([name for name, _ in columns])
    return [dict(zip(names, map(to_json, row), strict=True)) for row in rows]


def is_number(kind: str) -> bool:
    """Whether a DuckDB type is numeric."""
    return kind.removeprefix("U").startswith(_NUMBERS) and not kind.endswith("]")


def cell(value: object) -> str:
    """Format a value for people, with markup."""
    match value:
        case None:
            return "[dim]NULL[/]"
        case bool():
            return str(value).lower()
        case bytes():
            return f"0x{value.hex()}"
        case datetime():
            return text(value.isoformat(" "))
        case dict() | list():
            return text(json.dumps(to_json(value), default=str, ensure_ascii=False))
        case _:
            return text(value)


def _column(name: str, kind: str) -> Column:
    return right(text(name)) if is_number(kind) else Column(text(name))


def _unique(names: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        number, unique = 1, name
        while unique in found:
            number, unique = number + 1, f"{name}_{number}"
        found[unique] = None
    return list(found)
