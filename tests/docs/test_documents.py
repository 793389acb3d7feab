"""Every document's commands are run against the real systems, and give what it shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from tests.docs.console_blocks import commands_in, first_missing, run_document

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/kafka.md",
        "docs/schemas.md",
        "docs/catalog.md",
        "docs/pipelines.md",
        "docs/asking.md",
        "docs/actions.md",
        "docs/actions-builtin.md",
    ],
)
def test_a_document_shows_what_really_happens(name: str, settings: Settings, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**client_environment(settings), "PATH": path, "COLUMNS": "120"}
    assert run_document(ROOT / name, tmp_path, environment) > 0


def test_expected_lines_must_occur_in_order_with_dots_for_any_text() -> None:
    output = "topic  t\n created in 3 ms\nlast\n"
    assert first_missing(["topic t", "created in ... ms", "...", "last"], output) is None
    assert first_missing(["last", "topic t"], output) == "topic t"
    assert first_missing(["created in ... s"], output) == "created in ... s"


def test_a_block_is_read_as_commands_with_their_output_and_exit_code() -> None:
    first, second = commands_in("$ echo a \\\n> b\na b\n$ false\n[exit code 1]\n")
    assert (first.text, first.expected, first.exit_code) == ("echo a \\\nb", ["a b"], 0)
    assert (second.text, second.expected, second.exit_code) == ("false", [], 1)
