from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock.errors import DiskFull, LocalError, PartFailed
from penstock.local.files import make_directory, write_properties
from penstock.local.process import failed, how_it_ended, keep_previous, run, tail


def test_a_failed_part_is_told_with_the_last_lines_of_its_log_and_its_place(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_text("\n".join(f"line {number}" for number in range(100)), encoding="utf-8")

    error = failed("kafka", "ended with exit code 1", log)

    assert isinstance(error, PartFailed)
    assert error.message.startswith("kafka ended with exit code 1")
    assert error.message.endswith("line 99")
    assert "line 84" not in error.message
    assert str(log) in error.hint


def test_a_full_disk_is_recognised_in_a_log(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_text("java.io.IOException: No space left on device\n", encoding="utf-8")

    assert isinstance(failed("kafka", "ended with exit code 1", log), DiskFull)


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert tail(tmp_path / "nothing.log") == []


def test_the_log_of_the_run_before_stays_beside(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_text("before", encoding="utf-8")

    keep_previous(log)

    assert not log.exists()
    assert (tmp_path / "kafka.log.1").read_text(encoding="utf-8") == "before"


def test_a_preparing_step_that_fails_shows_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(PartFailed, match="could not be prepared") as refused:
        run("postgres", ["sh", "-c", "echo no such locale; exit 3"], tmp_path / "initdb.log")

    assert "no such locale" in refused.value.message


def test_a_preparing_step_that_hangs_ends_in_time(tmp_path: Path) -> None:
    with pytest.raises(PartFailed, match="within 0 s"):
        run("postgres", ["sleep", "60"], tmp_path / "initdb.log", timeout=0.2)


def test_how_a_process_ended_is_told_in_words() -> None:
    assert how_it_ended(-signal.SIGKILL) == "ended by SIGKILL"
    assert how_it_ended(3) == "ended with exit code 3"


def test_properties_write_foreign_letters_as_java_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"

    write_properties(file, {"log.dirs": "/stäck/\N{WATER WAVE}"})

    assert file.read_text(encoding="ascii") == "log.dirs=/st\\u00e4ck/\\ud83c\\udf0a\n"


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(LocalError, match="file/data cannot be made"):
        make_directory(tmp_path / "file" / "data")


def test_properties_keep_colons_and_backslashes_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"

    write_properties(file, {"a:b": "C:\\data", "listeners": "CLIENT://localhost:9092"})

    assert file.read_text(encoding="utf-8") == "a\\:b=C:\\\\data\nlisteners=CLIENT://localhost:9092\n"
    assert file.stat().st_mode & 0o777 == 0o600
