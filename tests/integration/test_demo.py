"""`penstock demo`, as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

PENSTOCK = [sys.executable, "-m", "penstock"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the demo makes its directories; in the end nothing is in it, and no process knows it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield tmp_path
    left = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"]) if _mentions(process, tmp_path)]
    assert left == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("penstock")] == []


def _mentions(process: psutil.Process, directory: Path) -> bool:
    return str(directory) in " ".join(process.info["cmdline"] or ())


@pytest.mark.timeout(600)
def test_events_go_from_posts_to_an_analysts_answers(temporary: Path) -> None:
    ran = subprocess.run(
        [*PENSTOCK, "demo", "--events", "1500"], capture_output=True, text=True, check=False, cwd=temporary
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    numbers = re.findall(
        r"sent (\S+) · acknowledged (\S+) · Avro topic (\S+) · lake (\S+) · dead letters (\S+)", ran.stdout
    )
    sent, acknowledged, in_avro, in_lake, dead = numbers[-1]
    assert sent == "1,500"
    assert acknowledged == in_avro == in_lake
    kept = r"(\d+) broken ones are kept as (\d+) dead letters: (\d+) by the collector, and (\d+) by each of the 2 sinks"
    [(broken, letters, by_collector, by_each)] = re.findall(kept, ran.stdout)
    assert letters == dead
    assert int(broken) == int(by_collector) + int(by_each)
    assert int(letters) == int(by_collector) + 2 * int(by_each)
    assert re.search(r"ListingView +█+", ran.stdout)
    assert '{"name": "Server_Date", "type": ["null", "string"], "default": null}' in ran.stdout
    assert re.search(r"record\.\w+ (User_ID: \d+ is not a string|Event_Type: .*)", ran.stdout)
    assert "Try next" in ran.stdout


@pytest.mark.faults
@pytest.mark.skipif("ROUNDS" not in os.environ, reason="a part of `make faults`, which has the time")
@pytest.mark.timeout(600)
def test_a_shop_is_mirrored_while_its_traffic_runs(temporary: Path) -> None:
    ran = subprocess.run(
        [*PENSTOCK, "demo", "shop", "--seconds", "5"], capture_output=True, text=True, check=False, cwd=temporary
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    moves = re.findall(r"PostgreSQL +[\d:.]+ +(.+)\n +lake +[\d:.]+ +(.+?) +[\d.]+ s later", ran.stdout)
    assert [theirs.split()[-1] for theirs, _ in moves] == ["Paris", "Lisbon", "Porto"]
    assert all(theirs == ours for theirs, ours in moves)
    verified = re.findall(r"public\.(\w+) +([\d,]+) +([\d,]+) +0 +none", ran.stdout)
    assert {table for table, _, _ in verified} == {"customers", "products", "orders", "order_lines"}
    assert all(rows == equal for _, rows, equal in verified)


@pytest.mark.timeout(300)
def test_ctrl_c_ends_it_and_leaves_nothing_running(temporary: Path) -> None:
    with subprocess.Popen(
        [*PENSTOCK, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=temporary
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "penstock run events.yaml" in line:
                break
        demo.send_signal(signal.SIGINT)
        rest, errors = demo.communicate()
    assert demo.returncode == 130, errors
    assert rest.strip().endswith("interrupted; everything is stopped")
