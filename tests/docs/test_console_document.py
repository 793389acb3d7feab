"""The console's document: its commands are sent to a console that runs, and are answered as it shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from penstock.catalog.database import Database
from penstock.catalog.own_datasets import Field, OwnDataset, register
from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.local.ports import free_ports
from tests.docs.console_blocks import run_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "console.md"
PAGE_VIEWS = "urn:li:dataset:(urn:li:dataPlatform:hive,tracking.PageViewEvent,PROD)"


@contextmanager
def running_console(directory: Path, environment: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The real command on a free port, ended in the end."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "penstock", "console", "--port", str(port)]
    log = directory / "console.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file, cwd=directory, env=environment)
    try:
        _await_answer(f"http://127.0.0.1:{port}/healthz", process, log)
        yield f"127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait(10)


def _await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            httpx.get(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"the console did not start: {log.read_text()}")


@pytest.mark.timeout(300)
def test_the_document_shows_what_really_happens(settings: Settings, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**client_environment(settings), "PATH": path}
    with Database(settings) as database:
        register(database, "docs", [OwnDataset(PAGE_VIEWS, [Field("page", "string")])], datetime.now(UTC))
    with running_console(tmp_path, environment) as (address, process):
        document = tmp_path / "console.md"
        document.write_text(DOCUMENT.read_text().replace("localhost:9000", address))
        assert run_document(document, tmp_path, environment) == 5
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert "console ended" in (tmp_path / "console.log").read_text()
