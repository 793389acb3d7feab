"""The example programs, run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import Consumer
from penstock.config import Settings
from penstock.schemas import connect_registry

KOARCH = Path(__file__).parents[2] / "examples" / "koarch"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(settings: Settings, topic: str) -> Run:
    def start(name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        addresses = {"PENSTOCK_BOOTSTRAP": settings.bootstrap, "PENSTOCK_REGISTRY": settings.registry}
        environment = {**os.environ, **addresses, "OUT_TOPIC": topic, "COUNT": "3", "INTERVAL": "0", **variables}
        command = [sys.executable, str(KOARCH / f"{name}.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return start


def test_count_up_registers_its_schema_and_counts(run: Run, settings: Settings, topic: str) -> None:
    finished = run("count_up")
    assert finished.returncode == 0, finished.stderr
    assert f"sent count 2 to {topic}" in finished.stdout
    with Consumer(topic, settings=settings, timeout=3) as consumer:
        assert [record.value for record in consumer] == [{"count": 0}, {"count": 1}, {"count": 2}]
    assert connect_registry(settings).by_version(f"{topic}-value", 1).schema.name == "penstock.examples.Count"


def test_count_up_with_a_wrong_record_fails_with_the_fields_name(run: Run) -> None:
    finished = run("count_up", WRONG="1")
    assert finished.returncode == 1
    assert finished.stderr == "error record.invalid: count: 'number 0' is not an int\n"


def test_count_up_without_a_broker_fails_with_its_address(run: Run) -> None:
    finished = run("count_up", PENSTOCK_BOOTSTRAP="localhost:1", PENSTOCK_TIMEOUT="1")
    assert finished.returncode == 1
    assert "error kafka.unavailable: connecting to Kafka at localhost:1" in finished.stderr


def test_multiples_sends_legacy_data(run: Run, settings: Settings, topic: str) -> None:
    finished = run("multiples", FACTOR="7")
    assert finished.returncode == 0, finished.stderr
    with Consumer(topic, settings=settings, timeout=3) as consumer:
        assert [(record.value, record.has_schema) for record in consumer] == [
            (b"0", False),
            (b"7", False),
            (b"14", False),
        ]
