"""How schemas and their differences look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from rich import box
from rich.table import Table

from penstock.cli.output import out, text
from penstock.schemas.evolution import Reason

Titled = tuple[str, str]

_MARKS = {"equal": " ", "replace": "~", "delete": "-", "insert": "+"}
_COLOURS = {"equal": ("", ""), "replace": ("red", "green"), "delete": ("red", ""), "insert": ("", "green")}


def reason_lines(reason: Reason) -> list[str]:
    """One reason against a schema: what is wrong, where, for whom, and what would help."""
    found = reason.misreading
    where = f"{found.place.field} ({found.place.pointer})" if found.place.field else found.place.pointer or "/"
    return [
        f"  [bold]{text(where)}[/]: {text(found.message)}",
        f"    {text(reason.direction)}",
        f"    [bold]hint[/] {text(reason.suggestion)}",
    ]


def show_side_by_side(old: Titled, new: Titled) -> None:
    """Print two texts in two columns, with the lines that differ marked and coloured."""
    table = Table(old[0], "", new[0], box=box.SIMPLE_HEAD, pad_edge=False)
    for mark, left, right in aligned(old[1].splitlines(), new[1].splitlines()):
        table.add_row(left, mark, right)
    out.print(table)
    if old[1] == new[1]:
        out.print("no difference")


def aligned(old: list[str], new: list[str]) -> Iterator[tuple[str, str, str]]:
    """Rows of (mark, old line, new line): ` ` the same, `~` changed, `-` gone, `+` come."""
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        left, right = old[old_start:old_end], new[new_start:new_end]
        for index in range(max(len(left), len(right))):
            pair = (_line(left, index, _COLOURS[kind][0]), _line(right, index, _COLOURS[kind][1]))
            yield _MARKS[kind], *pair


def _line(lines: list[str], index: int, colour: str) -> str:
    if index >= len(lines):
        return ""
    return f"[{colour}]{text(lines[index])}[/]" if colour else text(lines[index])
