"""Display of a lake table, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from penstock.cli.answer_view import Row, first_rows, rows_json, show_rows
from penstock.cli.output import counted, out, right, show_table, text
from penstock.config.units import show_size
from penstock.lake.lake import Lake
from penstock.lake.question import sample
from penstock.lake.table import Change, Summary, Table

_SAMPLE_ROWS = 5
_HISTORY = 10


@dataclass(frozen=True)
class Described:
    """All information shown by `penstock lake show`."""

    table: Table
    summary: Summary
    columns: tuple[tuple[str, str], ...]
    writers: list[str]
    history: list[Change]
    sample: list[Row]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        columns = [
            {"name": name, "type": kind, "partition": name in self.table.partition_by} for name, kind in self.columns
        ]
        return {
            **summary_json(self.table, self.summary),
            "columns": columns,
            "writers": self.writers,
            "history": [asdict(change) for change in self.history],
            "sample": rows_json(self.columns, self.sample),
        }


def describe(lake: Lake, name: str) -> Described:
    """Read the information about a table."""
    table = lake.table(name)
    history = table.history(_HISTORY)
    writers = {*lake.writers(name), *(change.writer for change in history if change.writer)}
    with sample(table, _SAMPLE_ROWS) as answer:
        rows = first_rows(answer, 0).rows
    return Described(table, table.summary(), answer.columns, sorted(writers), history, rows)


def show_described(found: Described) -> None:
    """Print the information."""
    table, about = found.table, found.summary
    folders = (
        f", {counted(about.partitions, 'partition')} by {', '.join(table.partition_by)}" if table.partition_by else ""
    )
    out.print(
        f"[bold]{text(table.name)}[/]: {table.format}, {counted(about.rows, 'row')}, {counted(about.files, 'file')}, "
        f"{show_size(about.size)}{text(folders)}"
    )
    writers = ", ".join(found.writers) or "nobody that left a note"
    out.print(f"in SQL: {text(sql_name(table.name))}; written by: {text(writers)}")
    show_table(("column", "type", ""), (_column_row(found, *column) for column in found.columns))
    if found.history:
        columns = (right("number"), "when", "what", "by")
        show_table(columns, map(_change_row, found.history), title="last writes")
    if found.sample:
        out.print("some rows")
        show_rows(found.columns, found.sample)


def summary_json(table: Table, about: Summary | None = None) -> dict[str, object]:
    """Return the JSON form of a row in `penstock lake tables`."""
    known = asdict(about or table.summary())
    return {"name": table.name, "format": table.format, "partition_by": list(table.partition_by), **known}


def sql_name(name: str) -> str:
    """Return the table's name in SQL, quoted if needed."""
    schema, _, table = name.rpartition("/")
    return ".".join(piece if piece.isidentifier() else f'"{piece}"' for piece in (schema, table) if piece)


def moment(when: datetime | None) -> str:
    """Format a time in the local zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S") if when else "-"


def _column_row(found: Described, name: str, kind: str) -> tuple[str, str, str]:
    return text(name), text(kind), "partition" if name in found.table.partition_by else ""


def _change_row(change: Change) -> tuple[object, ...]:
    return change.number, moment(change.when), text(change.what), text(change.writer or "-")
