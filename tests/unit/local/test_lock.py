from __future__ import annotations

import pytest

from penstock.errors import LocalError
from penstock.local.lock import Coordinate, files_of, parse_coordinate, parse_lock, shipped_lock
from penstock.local.parts import files_needed
from penstock.local.site import StackOptions

LINE = f"connect,kafka org.slf4j:slf4j-api:1.7.36@jar {'a' * 64} 41125"


def test_a_line_of_the_lock_names_parts_coordinate_hash_and_size() -> None:
    (file,) = parse_lock(LINE)

    assert file.parts == {"kafka", "connect"}
    assert file.coordinate == Coordinate("org.slf4j", "slf4j-api", "1.7.36")
    assert (file.sha256, file.size) == ("a" * 64, 41125)
    assert str(file) == LINE


def test_comments_and_empty_lines_are_no_files() -> None:
    assert parse_lock("# a comment\n\n   \n") == ()


def test_a_classifier_and_an_extension_are_part_of_the_file_name() -> None:
    coordinate = parse_coordinate("io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz")

    assert coordinate.file_name == "apicurio-registry-app-3.3.3-all.tar.gz"
    assert str(coordinate) == "io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz"


@pytest.mark.parametrize("text", ["org.slf4j:slf4j-api@jar", "org.slf4j:slf4j-api:1.7.36", "a:b:c:d:e@jar", ""])
def test_what_is_no_coordinate_is_refused(text: str) -> None:
    with pytest.raises(LocalError, match="organisation:name:version"):
        parse_coordinate(text)


def test_a_broken_line_is_refused_and_shown() -> None:
    with pytest.raises(LocalError, match="not-a-size"):
        parse_lock(f"kafka a:b:1@jar {'0' * 64} not-a-size")


def test_a_file_that_two_parts_need_is_listed_once() -> None:
    lock = parse_lock(LINE)

    assert files_of(["kafka", "connect"], lock) == lock
    assert files_of(["s3"], lock) == ()


def test_the_shipped_lock_has_every_file_of_every_part_with_a_whole_hash() -> None:
    everything = files_needed(StackOptions(cdc=True, s3=True))

    assert all(files_of([part]) for part in everything)
    assert all(len(bytes.fromhex(file.sha256)) == 32 and file.size > 0 for file in shipped_lock())
    assert len({file.path for file in shipped_lock()}) == len(shipped_lock())
