from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import LedgerLost, QueryInterrupted
from penstock.spark.files import Files, FoundFile, LocalFiles
from penstock.spark.hadoop_files import HadoopFiles


@pytest.fixture(params=["local", "hadoop"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """The same behaviour from the system's own files and from Hadoop's."""
    if request.param == "local":
        return LocalFiles()
    return HadoopFiles(request.getfixturevalue("spark"), f"file://{tmp_path}")


def test_a_file_is_read_as_it_was_written(files: Files, tmp_path: Path) -> None:
    path = f"{tmp_path}/deep/down/file"
    assert files.read(path) is None
    files.write(path, b"\x00one\xff")
    files.write(path, b"\x00two\xff")
    assert files.read(path) == b"\x00two\xff"


def test_a_file_is_created_once(files: Files, tmp_path: Path) -> None:
    path = f"{tmp_path}/deep/down/file"
    assert files.create(path, b"one")
    assert not files.create(path, b"two")
    assert files.read(path) == b"one"
    assert [found.path for found in files.below(str(tmp_path))] == ["deep/down/file"]


def test_of_many_who_create_a_file_one_succeeds(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: LocalFiles().create(f"{tmp_path}/file", b"%d" % number), range(50)))
    assert made.count(True) == 1
    assert LocalFiles().read(f"{tmp_path}/file") == b"%d" % made.index(True)


def test_a_lock_keeps_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.files._LOCK_SECONDS", 0.05)
    path = f"{tmp_path}/lock"
    with LocalFiles().lock(path), pytest.raises(QueryInterrupted, match="locked"), LocalFiles().lock(path):
        pass
    with LocalFiles().lock(f"{tmp_path}/lock"):
        pass


def test_every_file_below_a_directory_is_found(files: Files, tmp_path: Path) -> None:
    assert files.below(f"{tmp_path}/nothing") == []
    files.write(f"{tmp_path}/table/b=x%2Fy/file", b"12")
    files.write(f"{tmp_path}/table/a", b"1")
    assert files.below(f"{tmp_path}/table") == [FoundFile("a", 1), FoundFile("b=x%2Fy/file", 2)]


def test_a_move_can_be_repeated(files: Files, tmp_path: Path) -> None:
    files.write(f"{tmp_path}/from/file", b"1")
    for _ in range(2):
        files.move(f"{tmp_path}/from/file", f"{tmp_path}/to/folder/file")
    assert files.read(f"{tmp_path}/to/folder/file") == b"1"
    assert files.below(f"{tmp_path}/from") == []


def test_moving_what_never_was_is_refused(files: Files, tmp_path: Path) -> None:
    with pytest.raises(QueryInterrupted):
        files.move(f"{tmp_path}/from/file", f"{tmp_path}/to/file")


def test_a_move_never_replaces_another_file(files: Files, tmp_path: Path) -> None:
    files.write(f"{tmp_path}/from/file", b"new")
    files.write(f"{tmp_path}/to/file", b"stored")
    with pytest.raises(LedgerLost, match="exists already"):
        files.move(f"{tmp_path}/from/file", f"{tmp_path}/to/file")
    assert files.read(f"{tmp_path}/to/file") == b"stored"


def test_a_local_move_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    files = LocalFiles()
    files.write(f"{tmp_path}/from/file", b"1")
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "file").hardlink_to(tmp_path / "from" / "file")
    files.move(f"{tmp_path}/from/file", f"{tmp_path}/to/file")
    assert files.below(str(tmp_path)) == [FoundFile("to/file", 1)]


def test_what_is_directly_in_a_directory_is_listed(files: Files, tmp_path: Path) -> None:
    assert files.names(f"{tmp_path}/nothing") == []
    files.write(f"{tmp_path}/table/folder/file", b"1")
    files.write(f"{tmp_path}/table/file", b"1")
    assert files.names(f"{tmp_path}/table") == ["file", "folder"]


def test_files_and_directories_are_removed_also_twice(files: Files, tmp_path: Path) -> None:
    files.write(f"{tmp_path}/directory/below/file", b"1")
    files.write(f"{tmp_path}/file", b"1")
    for path in ("directory", "file", "file", "directory"):
        files.remove(f"{tmp_path}/{path}")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    files = LocalFiles()
    files.write(f"{tmp_path}/file", b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(QueryInterrupted, match="folder"):
        files.write(f"{tmp_path}/folder", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert files.read(f"{tmp_path}/file") == b"old"


def test_an_object_copied_by_an_interrupted_move_is_not_copied_again(spark: SparkSession, tmp_path: Path) -> None:
    files = HadoopFiles(spark, f"file://{tmp_path}")
    files.write(f"{tmp_path}/from/file", b"1")
    files.write(f"{tmp_path}/to/file", b"1")
    files.move(f"{tmp_path}/from/file", f"{tmp_path}/to/file")
    assert files.below(str(tmp_path)) == [FoundFile("to/file", 1)]
