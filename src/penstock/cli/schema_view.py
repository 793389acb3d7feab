"""Display of schemas and schema differences on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any

from rich import box
from rich.table import Table

from penstock.cli.output import out, text
from penstock.schemas.evolution import Reason
from penstock.schemas.schema import Schema

Titled = tuple[str, Schema]

_WIDTH = 100
_MIN_COLUMN = 30
_GAP = 4
_FIELD = re.compile(r'\s*\{"name": ("[^"]+")')


def pretty(node: Any, width: int = _WIDTH, indent: str = "") -> str:  # noqa: ANN401 - JSON
    """Format a schema's JSON. Short parts stay on a line; each record field has a separate line."""
    flat = json.dumps(node, ensure_ascii=False)
    if not isinstance(node, dict | list) or not node:
        return flat
    has_fields = "fields" in node if isinstance(node, dict) else all(isinstance(item, dict) for item in node)
    if len(indent) + len(flat) <= width and not has_fields:
        return flat
    inside = f"{indent}  "
    if isinstance(node, list):
        lines = [pretty(item, width, inside) for item in node]
    else:
        lines = [f"{json.dumps(key)}: {pretty(item, width, inside)}" for key, item in node.items()]
    opening, closing = "[]" if isinstance(node, list) else "{}"
    return "\n".join([opening, *_with_commas(lines, inside), indent + closing])


def _with_commas(lines: list[str], indent: str) -> list[str]:
    return [*(f"{indent}{line}," for line in lines[:-1]), indent + lines[-1]]


def show_reasons(reasons: list[Reason]) -> None:
    """Print the reasons against a schema: affected side, problem with location, and a suggestion."""
    for direction, group in groupby(reasons, key=lambda reason: reason.direction):
        out.print(f"[bold]{text(direction)}[/]")
        for reason in group:
            place = reason.misreading.place
            where = f"{place.field} ({place.pointer})" if place.field else place.pointer or "/"
            out.print(f"  [bold red]{text(where)}[/]: {text(reason.misreading.message)}")
            out.print(f"    [bold]hint[/]  {text(reason.suggestion)}")


def show_side_by_side(old: Titled, new: Titled) -> None:
    """Print two schemas in columns, with differing lines marked and coloured."""
    width = max(_MIN_COLUMN, out.width // 2 - _GAP)
    texts = [pretty(json.loads(schema.text), width) for _title, schema in (old, new)]
    table = Table(text(old[0]), "", text(new[0]), box=box.SIMPLE_HEAD, pad_edge=False)
    for mark, left, right in aligned(texts[0].splitlines(), texts[1].splitlines()):
        table.add_row(left, mark, right)
    out.print(table)
    if texts[0] == texts[1]:
        out.print("no difference")


def aligned(old: list[str], new: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield rows of (mark, old line, new line): ` ` equal, `~` changed, `-` removed, `+` added; fields pair by name."""
    matcher = SequenceMatcher(None, [_key(line) for line in old], [_key(line) for line in new], autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        left, right = old[old_start:old_end], new[new_start:new_end]
        if kind == "equal" or (kind == "replace" and not any(_FIELD.match(line) for line in left + right)):
            yield from (_row(*pair) for pair in zip_longest(left, right, fillvalue=""))
        else:
            yield from (_row(line, "") for line in left)
            yield from (_row("", line) for line in right)


def _key(line: str) -> str:
    field = _FIELD.match(line)
    return field[1] if field else _without_comma(line)


def _without_comma(line: str) -> str:
    return line.removesuffix(",")


def _row(old: str, new: str) -> tuple[str, str, str]:
    if _without_comma(old) == _without_comma(new):
        return " ", text(old), text(new)
    mark = "~" if old and new else "-" if old else "+"
    return mark, f"[red]{text(old)}[/]", f"[green]{text(new)}[/]"
