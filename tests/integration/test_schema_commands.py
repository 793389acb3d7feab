"""`penstock schemas` as a person meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

FIELDS = [{"name": "sensor", "type": "string"}, {"name": "celsius", "type": "double"}]
HUMIDITY = {"name": "humidity", "type": ["null", "double"], "default": None}


@pytest.fixture
def schema_file(tmp_path: Path) -> Any:
    """Write a record schema with these fields, and give its path."""

    def write(name: str, *fields: dict[str, object]) -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"type": "record", "name": "Reading", "fields": fields}))
        return str(path)

    return write


@pytest.fixture
def subject(topic: str, run_command: Any, schema_file: Any) -> str:
    """A subject with one version."""
    name = f"{topic}-value"
    assert run_command("schemas", "register", schema_file("v1.avsc", *FIELDS), "--subject", name).code == 0
    return name


def test_registering_the_same_schema_again_changes_nothing(run_command: Any, subject: str, schema_file: Any) -> None:
    again = run_command("schemas", "register", schema_file("v1.avsc", *FIELDS), "--subject", subject)
    assert again.code == 0
    assert f"was already version 1 of {subject}" in again.out


def test_list_shows_versions_and_the_rule_that_holds(run_command: Any, subject: str, schema_file: Any) -> None:
    run_command("schemas", "register", schema_file("v2.avsc", *FIELDS, HUMIDITY), "--subject", subject)
    rows = json.loads(run_command("schemas", "list", "--json").out)
    row = next(row for row in rows if row["subject"] == subject)
    assert (row["versions"], row["type"], row["compatibility"]) == ([1, 2], "Reading", "BACKWARD")


def test_show_gives_the_wanted_version_with_id_and_fingerprint(run_command: Any, subject: str) -> None:
    shown = json.loads(run_command("schemas", "show", subject, "--version", "1", "--json").out)
    assert shown["schema"]["fields"] == FIELDS
    assert len(shown["fingerprint"]) == 32


def test_an_incompatible_file_is_told_each_reason_and_registers_nothing(
    run_command: Any, subject: str, schema_file: Any
) -> None:
    wrong = schema_file("v3.avsc", {"name": "sensor", "type": "int"}, {"name": "station", "type": "string"})
    checked = run_command("schemas", "check", wrong, "--subject", subject, "--json")
    verdict = json.loads(checked.out)
    assert checked.code == 1
    assert {reason["field"] for reason in verdict["reasons"]} == {"sensor", "station"}
    assert all(reason["suggestion"] for reason in verdict["reasons"])
    assert len(json.loads(run_command("schemas", "show", subject, "--json").out)["schema"]["fields"]) == 2


def test_diff_marks_what_came_went_and_changed(run_command: Any, subject: str, schema_file: Any) -> None:
    new = schema_file("v2.avsc", {"name": "sensor", "type": ["null", "string"]}, HUMIDITY)
    rows = [" ".join(line.split()) for line in run_command("schemas", "diff", subject, "1", new).out.splitlines()]
    assert '{"name": "sensor", "type": "string"}, ~ {"name": "sensor", "type": ["null", "string"]},' in rows
    assert '{"name": "celsius", "type": "double"} -' in rows
    assert '+ {"name": "humidity", "type": ["null", "double"], "default": null}' in rows


def test_diff_of_a_version_with_itself_says_so(run_command: Any, subject: str) -> None:
    assert "no difference" in run_command("schemas", "diff", subject, "1", "latest").out


def test_a_deleted_subject_is_gone_from_the_list(run_command: Any, subject: str) -> None:
    assert run_command("schemas", "delete", subject, "--yes").code == 0
    assert subject not in run_command("schemas", "list").out


def test_deleting_asks_first(run_command: Any, subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run_command("schemas", "delete", subject).code == 1
    assert subject in run_command("schemas", "list").out


def test_a_subject_that_is_not_there_is_told(run_command: Any) -> None:
    shown = run_command("schemas", "show", "nobody-value")
    assert shown.code == 1
    assert "schema.not_found" in shown.err


def test_a_schema_file_with_a_mistake_is_told_by_its_line(run_command: Any, tmp_path: Path, topic: str) -> None:
    file = tmp_path / "wrong.avsc"
    file.write_text('{"type": "record", "name": "R", "fields": [\n  {"name": "a", "type": "string"},,\n]}')
    checked = run_command("schemas", "check", str(file), "--subject", f"{topic}-value")
    assert checked.code == 1
    assert "schema.syntax" in checked.err
    assert "line 2" in checked.err
