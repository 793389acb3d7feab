"""The walk-through's commands are run on a cluster of three brokers, one of which they kill."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.own_stack import client_environment
from penstock.kafka.admin import Admin
from penstock.kafka.topic_state import list_topics
from penstock.local.part import Condition
from tests.conftest import Running
from tests.docs.console_blocks import run_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "walkthrough.md"
PATIENCE = 60


@pytest.fixture
def mended(cluster: Running) -> Iterator[Running]:
    """The cluster, which is whole again afterwards."""
    yield cluster
    assert cluster.stack is not None
    for part in cluster.stack.states():
        if part.condition is Condition.DEAD:
            cluster.restart(part.name)
    deadline = time.monotonic() + PATIENCE
    with Admin(cluster.settings) as admin:
        while any(topic.under_replicated for topic in list_topics(admin)):
            assert time.monotonic() < deadline, "the broker does not catch up"
            time.sleep(0.3)


@pytest.mark.timeout(300)
def test_the_walk_through_shows_what_really_happens(mended: Running, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    where = {"PENSTOCK_DATA": str(mended.settings.data), "PATH": path, "COLUMNS": "120"}
    assert run_document(DOCUMENT, tmp_path, {**client_environment(mended.settings), **where}) > 0
