"""`penstock actions`: what there is, and a new action that works as it is written."""

from __future__ import annotations

import json
import os
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
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "mine"]
    tested = subprocess.run(words, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
    assert "2 passed" in tested.stdout, tested.stdout
    assert run_command("run", "--check", "mine/notify_owners.yaml").code == 0
    assert run_command("actions", "new", "notify_owners", "--into", "mine").code == 2, "nothing is overwritten"


@pytest.mark.parametrize("name", ["Notify", "1x", "class", "json", "a b", "../evil", ""])
def test_a_name_that_python_cannot_take_is_refused(run_command: RunCommand, name: str) -> None:
    ran = run_command("actions", "new", name)
    assert ran.code == 2
    assert "hint" in ran.err


def test_a_package_offers_its_own_types(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "offering.py").write_text(
        "class Mine:\n    'Does it.'\n    def create(config, ctx): ...\n    def act(self, event): ...\n"
    )
    info = tmp_path / "offering-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[penstock.actions]\nmine = offering:Mine\nhello_world = offering:Mine\n"
        "[datahub_actions.action.plugins]\ntheirs = offering:Mine\nbroken = nowhere:X\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    offers = {offer["name"]: offer for offer in json.loads(run_command("actions", "list", "--json").out)}
    assert (offers["mine"]["source"], offers["mine"]["summary"]) == ("offering:Mine", "Does it.")
    assert offers["theirs"]["summary"] == "Does it."
    assert offers["hello_world"]["source"] == "built in", "a built-in name is not taken over"
    assert offers["broken"]["summary"].startswith("cannot be used")
    for name in ("mine", "offering:Mine", "offering.Mine"):
        (tmp_path / "a.yaml").write_text(f"name: a\naction: {{type: '{name}'}}\n")
        assert run_command("run", "--check", "a.yaml").code == 0
