"""How commands speak: tables, JSON, progress, and errors that say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.errors import ConfigError, PenstockError

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def show_json(value: object) -> None:
    """Print a value as JSON, for programs."""
    out.out(json.dumps(value, indent=2, default=str, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under their columns; cells may carry Rich markup, so escape foreign text with `text`."""
    table = Table(*columns, title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    out.print(table)


def text(value: object) -> str:
    """A foreign value made safe to stand in a table or a message."""
    return escape(str(value))


def show_error(error: PenstockError) -> None:
    """Print an error on stderr: its code, what is wrong, and what to do."""
    if isinstance(error, ConfigError):
        err.print(f"[bold red]error[/] [dim]{error.code}[/]")
        for problem in error.problems:
            err.print(f"  {text(problem)}")
        return
    err.print(f"[bold red]error[/] [dim]{error.code}[/] {text(error.message)}")
    if error.hint:
        err.print(f"[bold]hint[/]  {text(error.hint)}")


def counting(unit: str) -> Progress:
    """A progress bar that counts things, drawn on a terminal only."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def downloading() -> Progress:
    """A progress bar for bytes, drawn on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
