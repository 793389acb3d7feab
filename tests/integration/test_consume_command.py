from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock import Producer
from penstock.config import Settings

COUNT = {"type": "record", "name": "Count", "fields": [{"name": "count", "type": "int"}]}
UNKNOWN_ID = b"\x00\x7f\x00\x00\x01rest"

Consume = Callable[..., Any]


@pytest.fixture
def consume(run_command: Any) -> Consume:
    """Run `penstock consume`, by default until nothing comes for a moment."""

    def run(*words: str) -> Any:
        return run_command("consume", *words, *([] if "--max" in words else ["--timeout", "0.5"]))

    return run


@pytest.fixture
def mixed(create_topic: Any, fill: Any, settings: Settings) -> str:
    """A topic with a record, legacy data and a tombstone."""
    topic: str = create_topic()
    with Producer(topic, COUNT, settings=settings) as producer:
        producer.send({"count": 1}, key="k")
    fill(topic, [b"nine", None])
    return topic


def test_records_are_shown_as_pairs_and_legacy_data_raw(mixed: str, consume: Consume) -> None:
    finished = consume(mixed)
    assert finished.code == 0, finished.err
    first, second, third = finished.out.splitlines()
    assert first.endswith(f"  {mixed}/0/0  k  count=1")
    assert second.endswith(f"  {mixed}/0/1  -  nine")
    assert third.endswith(f"  {mixed}/0/2  -  (tombstone)")


def test_json_lines_are_for_programs(mixed: str, consume: Consume) -> None:
    lines = [json.loads(line) for line in consume(mixed, "--json").out.splitlines()]
    assert [(line["key"], line["value"], line["has_schema"]) for line in lines] == [
        ("k", {"count": 1}, True),
        (None, "nine", False),
        (None, None, False),
    ]


def test_a_group_goes_on_after_the_last_record_shown_and_can_be_moved(mixed: str, consume: Consume) -> None:
    assert len(consume(mixed, "--group", mixed, "--max", "2").out.splitlines()) == 2
    (rest,) = consume(mixed, "--group", mixed, "--from", "committed").out.splitlines()
    assert "(tombstone)" in rest
    assert len(consume(mixed, "--group", mixed, "--from", "earliest").out.splitlines()) == 3
    assert consume(mixed, "--from", "latest").out == ""


def test_an_undecodable_record_is_told_on_stderr_and_passed_over(mixed: str, fill: Any, consume: Consume) -> None:
    fill(mixed, [UNKNOWN_ID, b"last"])
    finished = consume(mixed, "--from", "1h ago")
    assert finished.code == 1
    assert finished.out.splitlines()[-1].endswith("  last")
    assert finished.err.startswith(f"undecodable {mixed}/0/3: ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--from", "committed"], 2, "--group"),
        (["--from", "yesterday"], 2, "not a time"),
        (["--max", "0"], 2, "--max"),
    ],
)
def test_wrong_usage_is_told(topic: str, consume: Consume, arguments: list[str], code: int, words: str) -> None:
    finished = consume(topic, *arguments)
    assert finished.code == code
    assert words in finished.err


def test_an_unknown_topic_is_told(topic: str, consume: Consume) -> None:
    finished = consume(topic)
    assert finished.code == 1
    assert finished.err.startswith(f"error kafka.topic_not_found there is no topic '{topic}'")


@contextmanager
def running(settings: Settings, *words: str) -> Iterator[subprocess.Popen[str]]:
    addresses = ["--bootstrap", settings.bootstrap, "--registry", settings.registry]
    command = [sys.executable, "-m", "penstock", *addresses, "consume", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_it_well_with_the_groups_place_kept(
    mixed: str, settings: Settings, consume: Consume, number: int
) -> None:
    with running(settings, mixed, "--group", mixed) as process:
        assert process.stdout
        for _ in range(3):
            process.stdout.readline()
        time.sleep(0.5)
        os.kill(process.pid, number)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "", "")
    assert consume(mixed, "--group", mixed).out == ""
