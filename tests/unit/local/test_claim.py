from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import AlreadyRunning, DataMismatch, DiskFull
from penstock.local import claim
from penstock.local.claim import Claim
from penstock.local.part import Condition
from penstock.local.state import PartState, Phase, ProcessId, StackState, read_state, write_state

FACTS = {"kafka": "4.3.1", "brokers": "1"}


def silent(_line: str) -> None:
    """Nothing needs telling."""


def test_two_stacks_cannot_have_one_directory(tmp_path: Path) -> None:
    first = Claim(tmp_path, FACTS, silent)

    with pytest.raises(AlreadyRunning, match=str(tmp_path)):
        Claim(tmp_path, FACTS, silent)

    first.release()
    Claim(tmp_path, FACTS, silent).release()


@pytest.mark.parametrize(("fact", "other"), [("kafka", "4.4.0"), ("brokers", "3")])
def test_data_of_another_version_or_size_is_refused_with_both_named(tmp_path: Path, fact: str, other: str) -> None:
    first = Claim(tmp_path, FACTS, silent)
    first.remember_facts()
    first.release()

    with pytest.raises(DataMismatch, match=f"{fact} {FACTS[fact]}, not {other}"):
        Claim(tmp_path, {**FACTS, fact: other}, silent)


def test_a_start_that_wrote_nothing_binds_the_next_one_to_nothing(tmp_path: Path) -> None:
    Claim(tmp_path, FACTS, silent).release()

    Claim(tmp_path, {**FACTS, "brokers": "3"}, silent).release()


def test_a_directory_with_foreign_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(DataMismatch, match=r"thesis\.tex"):
        Claim(tmp_path, FACTS, silent)


def test_an_unreadable_versions_file_is_told(tmp_path: Path) -> None:
    (tmp_path / claim.VERSIONS_FILE).write_text("{", encoding="utf-8")

    with pytest.raises(DataMismatch, match=r"versions\.json"):
        Claim(tmp_path, FACTS, silent)


def test_a_full_disk_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage: Any = type("Usage", (), {"free": 3 * 1024 * 1024})
    monkeypatch.setattr(claim.shutil, "disk_usage", lambda _path: usage)

    with pytest.raises(DiskFull, match="3 MiB are free"):
        Claim(tmp_path, FACTS, silent)


def stale_state(data: Path, left: ProcessId) -> None:
    gone = ProcessId(left.pid, "before")
    part = PartState("kafka", "4.3.1", "localhost:9092", "kafka.log", Condition.READY, process=left)
    write_state(data, StackState(gone, Phase.RUNNING, {}, (part,)))


def test_what_a_killed_stack_left_is_killed_and_told_in_one_line(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as left:  # noqa: S607 - any program will do
        found = ProcessId.of(left.pid)
        assert found
        stale_state(tmp_path, found)
        (tmp_path / claim.VERSIONS_FILE).write_text("{}", encoding="utf-8")
        lines: list[str] = []

        Claim(tmp_path, FACTS, lines.append).release()

        assert left.wait(5) == -9
    assert len(lines) == 1
    assert "kafka" in lines[0]
    assert read_state(tmp_path) is None


def test_another_process_of_the_same_number_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / claim.VERSIONS_FILE).write_text("{}", encoding="utf-8")
    stale_state(tmp_path, ProcessId(os.getpid(), "before"))
    lines: list[str] = []

    Claim(tmp_path, FACTS, lines.append).release()

    assert "left no process" in lines[0]
