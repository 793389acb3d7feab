"""Text from outside cannot command a terminal, whichever view shows it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import logging
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

import penstock.cli
from penstock.cli.consume import _Viewer
from penstock.cli.log_lines import LastResort, logged
from penstock.cli.output import Terminal, err, lines, out, show_error, show_json, show_json_line, show_table, text
from penstock.config.printable import printable, printable_json, printable_lines
from penstock.errors import ConfigError, PenstockError, Problem, UsageError
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from tests.hostile import HOSTILE, CannotMake, hostile_arguments

CLI = Path(penstock.cli.__file__).parent
NO_VIEWS = {"run_actions._report", "demo.findings._show"}
VIEWS = {
    *("brokers._broker_row", "catalog._load_row", "catalog_view.show_dataset"),
    *("catalog_view.show_steps", "cdc._condition", "cdc._connector_row", "cdc._show_lag", "cdc_verify._show"),
    *("deadletters._group_row", "groups._group_row", "groups._member_row", "groups._move_row", "groups._show_members"),
    *("jobs._row", "lake_view._change_row", "letter_view.letter_row", "letter_view.show_letter", "line_sender._tell"),
    *("plan._show", "record_view.json_line", "record_view.pretty_line", "run_view.query_line"),
    *("schema_view.show_reasons", "setting_cells.setting_row", "stack_view.parts_table", "topics._headline"),
    *("topics._show_changes", "topics._topic_row"),
}
SHOWN_TEXTS = st.text(st.characters(), max_size=40)


def is_safe(shown: str) -> bool:
    return all(mark.isprintable() or mark == "\n" for mark in shown)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for console in (out, err):
        monkeypatch.setattr(console, "_width", 500)


def views() -> Iterator[Callable[..., Any]]:
    """Every function of the command line that makes something to be shown of a thing that was read."""
    for module in pkgutil.walk_packages([str(CLI)], "penstock.cli."):
        found = importlib.import_module(module.name)
        functions = [each for each in vars(found).values() if inspect.isfunction(each)]
        yield from (each for each in functions if each.__module__ == module.name and name_of(each) not in NO_VIEWS)


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__.removeprefix('penstock.cli.')}.{function.__name__}"


def test_all_views_show_hostile_text_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    seen, wrong = set(), {}
    for function in views():
        try:
            arguments = hostile_arguments(function)
        except CannotMake:
            continue
        made = None
        try:
            made = function(*arguments)
        except PenstockError as error:
            show_error(error)
        if isinstance(made, Table | str):
            out.print(made)
        elif isinstance(made, tuple):
            show_table([f"{number}" for number in range(len(made))], [made])
        printed = capsys.readouterr()
        shown = printed.out + printed.err
        if "owned" in shown:
            seen.add(name_of(function))
        if not is_safe(shown):
            wrong[name_of(function)] = shown
    assert wrong == {}
    assert seen >= VIEWS, VIEWS - seen


def test_nothing_of_the_command_line_goes_around_the_console() -> None:
    """What writes to a terminal by itself would miss what the console escapes."""
    around = []
    for file in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in {"print", "Console", "typer.echo", "click.echo", "typer.secho"} or called.endswith(
                ("stdout.write", "stderr.write", "file.write")
            ):
                around.append(f"{file.relative_to(CLI)}: {called}")
    assert sorted(around) == ["consume.py: out.file.write", "output.py: out.file.write"]


@pytest.mark.parametrize("console", [out, err])
def test_the_console_escapes_what_a_view_has_missed(console: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(HOSTILE)
    table.add_row(Text(HOSTILE))
    for unsafe in (Text(HOSTILE), table, HOSTILE):
        console.print(unsafe)
    console.out(HOSTILE)
    printed = capsys.readouterr()
    shown = printed.out + printed.err
    assert is_safe(shown)
    assert shown.count(r"\x1b]0;owned") >= 3


def test_colours_and_live_displays_of_our_own_stay(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(force_terminal=True, color_system="standard").print("[red]a[/]")
    assert capsys.readouterr().out == "\x1b[31ma\x1b[0m\n"


@pytest.mark.parametrize("shown", [show_json, show_json_line])
def test_json_means_the_same_and_commands_nothing(
    capsys: pytest.CaptureFixture[str], shown: Callable[[object], None]
) -> None:
    shown({HOSTILE: [HOSTILE, 1, None]})
    printed = capsys.readouterr().out
    assert is_safe(printed)
    assert json.loads(printed) == {HOSTILE: [HOSTILE, 1, None]}


def test_errors_and_hints_keep_their_lines_only(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(UsageError(HOSTILE, hint=HOSTILE))
    show_error(ConfigError([Problem(HOSTILE, HOSTILE, HOSTILE)]))
    shown = capsys.readouterr().err
    assert is_safe(shown)
    assert shown.count(r"b\rc" "\n" r"d\x7f\ud800[red]x[/]") == 5


def test_log_lines_are_one_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest's own record of log lines cannot be sent between its processes with a surrogate in it.
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    with logged():
        logging.getLogger("penstock.actions.log.p").info("%s", HOSTILE)
        logging.getLogger("penstock.kafka").warning("%s", HOSTILE)
    shown = capsys.readouterr().err
    assert is_safe(shown)
    assert len(shown.splitlines()) == 2


def test_what_no_handler_takes_is_safe_too(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.makeLogRecord({"msg": HOSTILE, "levelno": logging.WARNING})
    LastResort(logging.WARNING).handle(record)
    shown = capsys.readouterr().err
    assert is_safe(shown)
    assert "owned" in shown


def test_consume_as_json_shows_no_control_codes(capsys: pytest.CaptureFixture[str]) -> None:
    value = HOSTILE.replace("\ud800", "")
    headers = [(value, value.encode())]
    record = ConsumerRecord(value, value, headers, 0, TopicName("t"), Partition(0), Offset(0), has_schema=True)
    _Viewer(json=True)._print(record)
    printed = capsys.readouterr().out
    assert is_safe(printed)
    assert json.loads(printed)["value"] == value


@given(SHOWN_TEXTS)
def test_any_text_is_made_safe_and_ordinary_text_stays(value: str) -> None:
    assert printable(value).isprintable()
    assert is_safe(printable_lines(value).replace("\t", ""))
    assert is_safe(printable_json(value))
    assert json.loads(printable_json(value)) == value
    if value.isprintable():
        assert printable(value) == value
    assert Text.from_markup(f"{text(value)}|{lines(value)}").plain == f"{printable(value)}|{printable_lines(value)}"
