"""The dead letters' document: its commands are run beside a collector that keeps what it rejects."""

from __future__ import annotations

import os
import re
import sys
import uuid
from pathlib import Path

import pytest

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.kafka.topics import ensure_topic
from tests.collector_process import collector, product_topic
from tests.docs.console_blocks import run_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "dead-letters.md"


@pytest.mark.timeout(300)
def test_the_document_shows_what_really_happens(settings: Settings, tmp_path: Path) -> None:
    topic = f"e-{uuid.uuid4().hex[:8]}"
    for name in (topic, f"{topic}.dead"):
        ensure_topic(settings, name, partitions=1)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**client_environment(settings), "PATH": path, "COLUMNS": "120"}
    section = {"topic": topic, "topics": {topic: product_topic()}, "dead_letters": f"{topic}.dead"}
    with collector(tmp_path, settings, **section) as process:
        document = tmp_path / "dead-letters.md"
        document.write_text(_with_own_topic(topic, f"{process.url}/events"), encoding="utf-8")
        assert run_document(document, tmp_path, environment) == 8


def _with_own_topic(topic: str, url: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8").replace("localhost:8000/events", "ADDRESS")
    return re.sub(r"\bevents\b", topic, text).replace("ADDRESS", url)
