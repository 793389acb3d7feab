from __future__ import annotations

import threading

import pytest

from penstock.cli import working
from penstock.cli.working import each_shown


def test_long_work_names_what_it_is_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(working, "LINE_SECONDS", 0.01)
    printed = threading.Event()
    monkeypatch.setattr(working.err, "print", lambda line: (print(line), printed.set()))  # noqa: T201 - the test's own
    for name in each_shown(["[one]", "two"], "reading", str, "tables"):
        printed.clear()
        assert printed.wait(10)
        assert name in {"[one]", "two"}
    said = {line.rpartition(",")[0] for line in capsys.readouterr().out.splitlines()}
    assert {r"reading \[one] (1 of 2)", "reading two (2 of 2)"} <= said


def test_quick_work_prints_nothing_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(each_shown([1, 2], "reading", str, "tables")) == [1, 2]
    assert capsys.readouterr() == ("", "")
