"""Output of commands: tables, JSON, progress, and errors with hints."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.prompt import Confirm
from rich.segment import Segment
from rich.table import Column, Table

from penstock.config.printable import printable, printable_json, printable_lines
from penstock.errors import ConfigError, PenstockError, UsageError

_WIDTH_OFF_TERMINAL = 200


class Terminal(Console):
    """Console without control sequences except Rich's own, such as colours.

    Views escape foreign text with `text` and `lines`. This class escapes any remaining text.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render like Rich, with text made safe."""
        for segment in super().render(renderable, options):
            is_safe = segment.control or segment.text.isprintable()
            yield segment if is_safe else Segment(printable_lines(segment.text), segment.style)

    def out(self, *objects: Any, **given: Any) -> None:  # noqa: ANN401 - Rich's signature
        """Print without markup, with text made safe."""
        super().out(*map(printable_lines, objects), **given)


out = Terminal(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _WIDTH_OFF_TERMINAL)
err = Terminal(stderr=True, highlight=False, soft_wrap=True)


def show_json(value: object) -> None:
    """Print a value as JSON, for programs."""
    out.out(printable_json(value, indent=2))


def show_json_line(value: object) -> None:
    """Print a value as a single line of JSON."""
    out.file.write(f"{printable_json(value)}\n")


def right(name: str) -> Column:
    """Return a right-aligned column for numbers."""
    return Column(name, justify="right")


def show_table(columns: Sequence[str | Column], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows as a table. Cells may contain Rich markup, so foreign text needs `text`."""
    table = Table(*columns, title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    out.print(table)


def text(value: object) -> str:
    """Escape a foreign value for a table or message, on a single line."""
    return escape(printable(value))


def lines(value: object) -> str:
    """Escape a foreign text, but keep line breaks."""
    return escape(printable_lines(value))


def counted(number: int, noun: str) -> str:
    """Format a number with its noun: `1 topic`, `1,204 records`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def ask(question: str, *, yes: bool) -> None:
    """Continue only after a yes, from the user or from `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this changes something, and nobody is there to ask", hint="add --yes")
    if not Confirm.ask(question, console=err, default=False):
        raise typer.Exit(code=1)


def show_error(error: PenstockError) -> None:
    """Print an error on stderr: code, message, and hint."""
    if isinstance(error, ConfigError):
        err.print(f"[bold red]error[/] [dim]{error.code}[/]")
        for problem in error.problems:
            err.print(f"  {lines(problem)}")
        return
    err.print(f"[bold red]error[/] [dim]{error.code}[/] {lines(error.message)}")
    if error.hint:
        err.print(f"[bold]hint[/]  {lines(error.hint)}")


def counting(unit: str) -> Progress:
    """Return a progress bar for counts, visible only on a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def downloading() -> Progress:
    """Return a progress bar for bytes, visible only on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
