"""Charts of query results in the terminal: bars for groups, columns for a long time series.

The first column names the groups. Each later numeric column is drawn; other columns extend the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from penstock.cli.answer_view import Row, is_number
from penstock.cli.output import text
from penstock.errors import UsageError

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = " ▁▂▃▄▅▆▇█"
_LABEL_SHARE = 0.4
_LEAST_BAR = 4
_SERIES_ROWS = 24
_SERIES_HEIGHT = 8
_TIME = re.compile(r"\d{4}-\d{2}(-\d{2}([ T]\d{2}(:\d{2}.*)?)?)?")

Columns = Sequence[tuple[str, str]]


class Bars(NamedTuple):
    """Group with a label, and a number or None per drawn column."""

    label: str
    numbers: tuple[float | None, ...]


def chart(columns: Columns, rows: Sequence[Row], width: int) -> list[str]:
    """Return the lines of a chart, with markup, at most `width` wide."""
    drawn = _drawn(columns)
    groups = [_bars(columns, row, drawn) for row in rows]
    names = [columns[at][0] for at in drawn]
    if not any(number is not None for group in groups for number in group.numbers):
        return ["[dim]nothing to draw: there are no numbers[/]"]
    if len(drawn) == 1 and len(rows) > _SERIES_ROWS and _are_times(rows):
        return _series(names[0], sorted(group for group in groups if group.numbers[0] is not None), width)
    return [*_legend(names, width), *_bar_lines(groups, width)]


def _drawn(columns: Columns) -> list[int]:
    drawn = [at for at, (_, kind) in enumerate(columns) if is_number(kind) and (at or len(columns) == 1)]
    if not drawn:
        hint = "SELECT a column that names the groups first, then count(*) or another number"
        raise UsageError("a chart needs a column of numbers after the first one", hint=hint)
    return drawn


def _bars(columns: Columns, row: Row, drawn: Sequence[int]) -> Bars:
    words = [_plain(value) for at, value in enumerate(row) if at not in drawn and at < len(columns)]
    return Bars(" ".join(words), tuple(_number(row[at]) for at in drawn))


def _plain(value: object) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else str(value)


def _number(value: object) -> float | None:
    if not isinstance(value, int | float | Decimal):
        return None
    number = float(value)
    return number if abs(number) < float("inf") else None


def _are_times(rows: Sequence[Row]) -> bool:
    return all(row[0] is None or _TIME.fullmatch(str(row[0])) for row in rows)


def _legend(names: Sequence[str], width: int) -> list[str]:
    if len(names) == 1:
        return []
    each = max(_LEAST_BAR, width // len(names) - 4)
    marks = (
        f"[{_colour(at)}]█[/] {text(set_cell_size(name, min(each, cell_len(name))))}" for at, name in enumerate(names)
    )
    return ["  ".join(marks)]


def _bar_lines(groups: Sequence[Bars], width: int) -> Iterator[str]:
    numbers = [number for group in groups for number in group.numbers if number is not None]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    value_width = max(len(_shown_number(number)) for number in numbers)
    longest = max(cell_len(_printable(group.label)) for group in groups)
    label_width = max(1, min(longest, int(width * _LABEL_SHARE), width - value_width - _LEAST_BAR - 3))
    room = max(_LEAST_BAR, width - label_width - value_width - 3)
    for group in groups:
        label = _fitted(group.label, label_width)
        for at, number in enumerate(group.numbers):
            bar = "" if number is None else _bar(number, low, high, room)
            told = "[dim]NULL[/]" if number is None else _shown_number(number)
            yield f"{text(label)}  [{_colour(at)}]{bar}[/] {told}"
            label = " " * label_width


def _bar(number: float, low: float, high: float, room: int) -> str:
    """Return a bar from zero. The position of zero leaves room for the smallest negative number."""
    scale = room / (high - low) if high > low else 0.0
    left = round(-low * scale)
    if number < 0:
        length = max(1, round(-number * scale))
        return " " * (left - length) + "█" * length + " "
    whole, eighths = divmod(round(number * scale * 8), 8)
    bar = "█" * whole + (_EIGHTHS[eighths] if eighths else "")
    return " " * left + (bar or ("▏" if number else ""))


def _series(name: str, points: Sequence[Bars], width: int) -> list[str]:
    """Return columns from left to right. With more points than columns, each column shows a mean."""
    numbers = [group.numbers[0] or 0.0 for group in points]
    axis = max(len(_shown_number(number)) for number in (0.0, *numbers))
    room = max(_LEAST_BAR, width - axis - 2)
    step = -(-len(numbers) // room)
    means = [sum(part) / len(part) for part in (numbers[at : at + step] for at in range(0, len(numbers), step))]
    high = max(*means, 0.0) or 1.0
    lines = [_series_line(means, high, level, axis) for level in range(_SERIES_HEIGHT, 0, -1)]
    first, last = points[0].label, points[-1].label
    gap = max(1, len(means) - cell_len(first) - cell_len(last))
    title = text(name) + (f" [dim](each column is the mean of {step})[/]" if step > 1 else "")
    return [title, *lines, " " * (axis + 2) + text(f"{first}{' ' * gap}{last}"[: max(width - axis - 2, 1)])]


def _series_line(means: Sequence[float], high: float, level: int, axis: int) -> str:
    tick = _shown_number(high) if level == _SERIES_HEIGHT else "0" if level == 1 else ""
    filled = (round(max(mean, 0.0) / high * _SERIES_HEIGHT * 8) - (level - 1) * 8 for mean in means)
    marks = "".join(_HEIGHTS[min(max(eighths, 0), 8)] for eighths in filled)
    return f"[dim]{tick[:axis]:>{axis}}[/]  [{_colour(0)}]{marks}[/]"


def _shown_number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def _fitted(label: str, width: int) -> str:
    """Return the label in exactly `width` cells, with an ellipsis if truncated."""
    plain = _printable(label)
    return set_cell_size(plain, width) if cell_len(plain) <= width else set_cell_size(plain, width - 1) + "…"


def _printable(label: str) -> str:
    return "".join(mark if mark.isprintable() else "?" for mark in label)


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]
