from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import QuestionRefused, TableNotFound
from tests.unit.lake.conftest import Ask

Write = Callable[..., Path]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('events/a.parquet')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
    ],
)
def test_a_question_reads_no_files(sql: str, write: Write, answer: Ask) -> None:
    write("events/a.parquet", n=[1])
    with pytest.raises(QuestionRefused, match="disabled by configuration"):
        answer(sql)


@pytest.mark.parametrize("name", ["'/etc/passwd'", "'events/a.parquet'", "sys", "'../other'"])
def test_a_name_leads_to_tables_of_the_lake_only(name: str, write: Write, answer: Ask) -> None:
    write("events/a.parquet", n=[1])
    with pytest.raises(TableNotFound):
        answer(f"FROM {name}")


def test_a_mistake_is_shown_with_its_place(write: Write, answer: Ask) -> None:
    write("events/a.parquet", n=[1])
    with pytest.raises(QuestionRefused) as refused:
        answer("SELECT n,\n       nope FROM events")
    assert str(refused.value).splitlines()[-2:] == ["LINE 2:        nope FROM events", "               ^^^^"]


def test_what_fails_only_while_rows_are_read_is_refused_too(write: Write, answer: Ask) -> None:
    write("events/a.parquet", n=["1", "x"])
    with pytest.raises(QuestionRefused, match="Could not convert string 'x'"):
        answer("SELECT n::INT FROM events")


def test_today_is_told_in_utc(answer: Ask) -> None:
    assert answer("SELECT current_setting('TimeZone')") == [("UTC",)]


def test_with_may_take_the_name_of_a_table(write: Write, answer: Ask) -> None:
    write("events/a.parquet", n=[1, 2, 3])
    assert answer("WITH events AS (FROM events WHERE n > 1), x AS (SELECT 1) SELECT count(*) FROM events, x") == [(2,)]
