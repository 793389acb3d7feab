from datetime import date, timedelta
from decimal import Decimal

import pytest
from rich.cells import cell_len
from rich.text import Text

from penstock.cli.chart import chart
from penstock.errors import UsageError

GROUPS = (("event", "VARCHAR"), ("count", "BIGINT"))


def drawn(columns: tuple[tuple[str, str], ...], rows: list[tuple[object, ...]], width: int = 40) -> list[str]:
    return [Text.from_markup(line).plain.rstrip() for line in chart(columns, rows, width)]


def test_bars_are_as_long_as_their_numbers() -> None:
    view, search = drawn(GROUPS, [("View", 30), ("Search", 15)])
    assert view.startswith("View    █")
    assert view.endswith(" 30")
    assert view.count("█") == 2 * search.count("█") + search.count("▌")


def test_several_numbers_are_bars_below_each_other_with_a_legend() -> None:
    columns = (("event", "VARCHAR"), ("yesterday", "BIGINT"), ("today", "DECIMAL(9,2)"))
    legend, first, second = drawn(columns, [("View", 10, Decimal("12.50"))])
    assert legend == "█ yesterday  █ today"
    assert (first.split()[0], first.split()[-1], second.split()[-1]) == ("View", "10", "12.50")


def test_nulls_stand_where_a_number_or_a_name_is_missing() -> None:
    lines = drawn(GROUPS, [(None, 3), ("Search", None)])
    assert lines[0].startswith("NULL")
    assert lines[1].split() == ["Search", "NULL"]


def test_negative_numbers_go_to_the_left() -> None:
    down, up = drawn(GROUPS, [("down", -5), ("up", 5)])
    assert down.index("█") < up.index("█")
    assert down.rindex("█") < up.index("█")


@pytest.mark.parametrize("width", [20, 33, 80, 200])
@pytest.mark.parametrize(
    "label", ["short", "日本語の長いイベント名" * 3, "x" * 100, "👩‍🚀 crew", "[bold]markup[/]", "tab\tnew\nline"]
)
def test_no_line_is_wider_than_the_terminal(width: int, label: str) -> None:
    lines = chart(GROUPS, [(label, 1_234_567), ("b", 0)], width)
    assert all(cell_len(Text.from_markup(line).plain) <= width for line in lines)
    assert len(lines) == 2


def test_a_long_row_of_times_is_drawn_from_left_to_right() -> None:
    days = [(str(date(2026, 1, 1) + timedelta(days=at)), at) for at in reversed(range(40))]
    title, *lines, axis = drawn((("day", "VARCHAR"), ("count", "BIGINT")), list(days), 60)
    assert title == "count"
    assert axis.split() == ["2026-01-01", "2026-02-09"]
    assert lines[0].lstrip().startswith("39")
    assert lines[0].endswith("█")
    assert all(len(line) <= 60 for line in lines)


def test_more_times_than_columns_are_drawn_as_means() -> None:
    hours = [(f"2026-01-{1 + at // 24:02} {at % 24:02}:00:00", 10.0) for at in range(200)]
    title, *lines, _ = drawn((("hour", "TIMESTAMP"), ("n", "DOUBLE")), list(hours), 50)
    assert title == "n (each column is the mean of 5)"
    assert lines[-1].count("█") == 40


def test_nothing_but_nulls_is_told() -> None:
    assert drawn(GROUPS, [("a", None)]) == ["nothing to draw: there are no numbers"]
    assert drawn(GROUPS, []) == ["nothing to draw: there are no numbers"]


def test_a_chart_without_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a column of numbers"):
        chart((("a", "VARCHAR"), ("b", "INTEGER[]")), [("x", [1])], 40)
