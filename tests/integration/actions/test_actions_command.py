"""`penstock actions`: what there is, and a new action that works as it is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RunCommand


def test_list_names_everything_that_a_file_may_use(run_command: RunCommand) -> None:
    ran = run_command("actions", "list", "--json")
    found = {(offer["kind"], offer["name"]): offer["summary"] for offer in json.loads(ran.out)}
    actions = {name for kind, name in found if kind == "action"}
    assert actions >= {"hello_world", "log", "webhook", "kafka", "sql", "exec"}
    assert {name for kind, name in found if kind == "transformer"} >= {"filter", "set", "drop", "rename", "map"}
    assert not [name for name, summary in found.items() if not summary or "cannot" in summary]
    assert "action webhook built in" in " ".join(run_command("actions", "list").lines)


def test_show_lists_the_keys_with_defaults(run_command: RunCommand) -> None:
    keys = {key["name"]: key for key in json.loads(run_command("actions", "show", "webhook", "--json").out)}
    assert keys["url"]["default"] == "required"
    assert keys["timeout"]["default"] == "10.0"
    assert "schema" in {key["name"] for key in json.loads(run_command("actions", "show", "kafka", "--json").out)}
    ran = run_command("actions", "show", "webhok")
    assert (ran.code, "did you mean webhook?" in ran.err) == (2, True)


def test_a_new_action_works_and_its_test_passes(run_command: RunCommand, tmp_path: Path) -> None:
    ran = run_command("actions", "new", "notify-owners", "--into", "mine")
    assert ran.code == 0, ran.err
    written = sorted(path.name for path in (tmp_path / "mine").iterdir())
    assert written == ["notify_owners.py", "notify_owners.yaml", "test_notify_owners.py"]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mine"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in tested.stdout, tested.stdout
    assert run_command("run", "--check", "mine/notify_owners.yaml").code == 0
    assert run_command("actions", "new", "notify_owners", "--into", "mine").code == 2, "nothing is overwritten"


@pytest.mark.parametrize("name", ["Notify", "1x", "class", "json", "a b", "../evil", ""])
def test_a_name_that_python_cannot_take_is_refused(run_command: RunCommand, name: str) -> None:
    ran = run_command("actions", "new", name)
    assert ran.code == 2
    assert "hint" in ran.err
