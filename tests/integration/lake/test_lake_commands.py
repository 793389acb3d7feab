"""`penstock lake` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import RunCommand


@pytest.fixture(autouse=True)
def events(tmp_path: Path) -> None:
    """Events of two kinds on two days, in the lake that the settings name by default."""
    for kind, day, count in (("View", "2026-01-30", 4), ("View", "2026-01-31", 6), ("Search", "2026-01-31", 1)):
        folder = tmp_path / "lake" / "events" / f"Event_Type={kind}" / f"Server_Date={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"User_ID": [f"u-{number}" for number in range(count)]}), folder / "a.parquet")


def test_tables_are_listed(run_command: RunCommand) -> None:
    row = run_command("lake", "tables").lines[2]
    assert row.startswith("events parquet Event_Type, Server_Date 3 3 11 ")
    (found,) = json.loads(run_command("lake", "tables", "--json").out)
    assert (found["name"], found["rows"], found["partition_by"]) == ("events", 11, ["Event_Type", "Server_Date"])
    assert "no tables in none" in run_command("lake", "tables", "--lake", "none").out


def test_a_table_is_shown(run_command: RunCommand) -> None:
    lines = run_command("lake", "show", "events").lines
    assert lines[0].startswith("events: parquet, 11 rows, 3 files,")
    assert "Server_Date VARCHAR partition" in lines
    assert lines[-1].startswith("u-")
    found = json.loads(run_command("lake", "show", "events", "--json").out)
    assert [column["name"] for column in found["columns"]] == ["User_ID", "Event_Type", "Server_Date"]
    assert len(found["sample"]) == 5


def test_an_answer_is_a_table_json_a_chart_or_a_file(run_command: RunCommand, tmp_path: Path) -> None:
    sql = "SELECT Event_Type, count(*) AS events FROM events GROUP BY 1 ORDER BY 2 DESC"
    assert run_command("lake", "query", sql).lines == ["Event_Type events", "─" * 19, "View 10", "Search 1"]
    assert json.loads(run_command("lake", "query", sql, "--json").out) == [
        {"Event_Type": "View", "events": 10},
        {"Event_Type": "Search", "events": 1},
    ]
    view, search = run_command("lake", "query", sql, "--chart").lines
    assert (view.count("█"), search.count("█") > 0) == (89, True)
    assert run_command("lake", "query", sql, "--output", "a.csv").lines == ["wrote 2 rows to a.csv"]
    assert (tmp_path / "a.csv").read_text() == '"Event_Type","events"\n"View",10\n"Search",1\n'


def test_only_so_many_rows_are_shown(run_command: RunCommand) -> None:
    ran = run_command("lake", "query", "SELECT User_ID FROM events", "--limit", 2)
    assert (len(ran.lines), "these are the first 2 rows" in ran.err) == (4, True)
    assert len(run_command("lake", "query", "SELECT User_ID FROM events", "--limit", 0).lines) == 13


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("SELECT * FROM evnts",), 1, "did you mean events?"),
        (("SELECT nope FROM events",), 2, "LINE 1: SELECT nope FROM events\n               ^^^^"),
        (("DROP TABLE events",), 2, "this is no question"),
        (("SELECT 1", "--json", "--chart"), 2, "choose one of them"),
        (("SELECT 1", "--output", "a.xls"), 2, ".csv or .parquet"),
        (("SELECT 'x'", "--chart"), 2, "needs a column of numbers"),
    ],
)
def test_mistakes_are_told(words: tuple[str, ...], code: int, told: str, run_command: RunCommand) -> None:
    ran = run_command("lake", "query", *words)
    assert (ran.code, told in ran.err) == (code, True)
