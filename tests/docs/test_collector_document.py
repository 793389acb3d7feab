"""The collector's document: its commands are sent to a collector that runs, and are answered as it shows."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from penstock.cli.own_stack import client_environment
from penstock.collector.config import CollectorSettings
from penstock.config import Settings
from tests.collector_process import collector
from tests.docs.console_blocks import run_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "collector.md"


@pytest.mark.timeout(300)
def test_the_document_shows_what_really_happens(settings: Settings, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**client_environment(settings), "PATH": path, "COLUMNS": "120"}
    with collector(tmp_path, settings) as process:
        document = tmp_path / "collector.md"
        document.write_text(DOCUMENT.read_text().replace("localhost:8000", process.url.removeprefix("http://")))
        assert run_document(document, tmp_path, environment) == 5


def test_the_document_lists_every_setting_with_its_default() -> None:
    table = DOCUMENT.read_text().partition("## Every setting")[2]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(CollectorSettings.model_fields)
