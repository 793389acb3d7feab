from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.errors import QuestionRefused, UsageError
from penstock.lake.export import check_target, write_answer
from penstock.lake.lake import Lake
from penstock.lake.question import ask


def test_csv_has_every_type_in_some_form(lake: Lake, tmp_path: Path) -> None:
    sql = """SELECT 1 a, NULL::INT b, 'x,"y"' c, DATE '2026-01-31' d,
                    [1, 2] e, {'k': 'ä'} f, 'ab'::BLOB g, 2.50::DECIMAL(9, 2) h"""
    file = tmp_path / "answer.csv"
    with ask(lake, sql) as answer:
        assert write_answer(answer, file) == 1
    head, row = file.read_text().splitlines()
    assert head == '"a","b","c","d","e","f","g","h"'
    assert row == '1,,"x,""y""",2026-01-31,"[1, 2]","{""k"": ""ä""}","6162",2.50'


def test_parquet_keeps_types(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "answer.parquet"
    with ask(lake, "SELECT range AS n, {'k': [range]} AS s FROM range(25000)") as answer:
        assert write_answer(answer, file) == 25_000
    table = pq.read_table(file)
    assert table.num_rows == 25_000
    assert table.column("s")[7].as_py() == {"k": [7]}


def test_an_answer_that_breaks_off_leaves_the_file_as_it_was(
    lake: Lake, tmp_path: Path, write: Callable[..., Path]
) -> None:
    write("events/a.parquet", n=[*map(str, range(30_000)), "x"])
    file = tmp_path / "answer.csv"
    file.write_text("before")
    with ask(lake, "SELECT n::INT FROM events") as answer, pytest.raises(QuestionRefused):
        write_answer(answer, file)
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["answer.csv"]


def test_other_endings_and_directories_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is written as \.csv or \.parquet"):
        check_target(tmp_path / "answer.xlsx")
    with pytest.raises(UsageError, match="there is no directory"):
        check_target(tmp_path / "none" / "answer.csv")
