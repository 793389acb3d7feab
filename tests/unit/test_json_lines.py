from __future__ import annotations

from io import BytesIO

import pytest

from penstock.cli.json_lines import LineReader, read_lines
from penstock.errors import RecordInvalid, RecordTooLarge
from penstock.schemas import Schema

USER = """{"type": "record", "name": "User", "fields": [
    {"name": "id", "type": "long"}, {"name": "photo", "type": "bytes"}]}"""


def test_lines_are_numbered_and_empty_ones_left_out() -> None:
    lines = list(read_lines(BytesIO(b"1\n\n  \n2\r\n3")))
    assert [(line.number, line.text.strip()) for line in lines] == [(1, b"1"), (4, b"2"), (5, b"3")]


@pytest.mark.parametrize("length", [10, 11, 29, 30, 31])
def test_a_line_beyond_the_limit_is_marked_and_the_next_one_is_read(length: int) -> None:
    lines = list(read_lines(BytesIO(b"x" * length + b"\n{}\n"), limit=10))
    assert [(line.number, line.whole) for line in lines] == [(1, False), (2, True)]


def test_a_line_of_just_the_limit_is_whole() -> None:
    (line,) = read_lines(BytesIO(b"x" * 9 + b"\n"), limit=10)
    assert line.whole


def test_a_line_becomes_a_key_and_a_value() -> None:
    reader = LineReader(Schema.from_text(USER), "id", "long")
    (line,) = read_lines(BytesIO(b'{"id": 7, "photo": "png"}'))
    assert reader.read(line) == (7, {"id": 7, "photo": b"png"})


def test_bytes_may_be_the_key() -> None:
    reader = LineReader(Schema.from_text(USER), "photo", "bytes")
    (line,) = read_lines(BytesIO(b'{"id": 7, "photo": "png"}'))
    assert reader.read(line).key == b"png"


@pytest.mark.parametrize("text", [b'{"photo": ""}', b"[1]", b"7"])
def test_a_line_without_the_field_that_is_the_key_is_refused(text: bytes) -> None:
    (line,) = read_lines(BytesIO(text))
    with pytest.raises(RecordInvalid, match="id: the field that is the key is missing"):
        LineReader(Schema.from_text(USER), "id", "long").read(line)


def test_a_line_that_is_not_whole_is_refused() -> None:
    (line,) = read_lines(BytesIO(b'{"id": 7, "photo": "png"}'), limit=5)
    with pytest.raises(RecordTooLarge, match="longer than"):
        LineReader(Schema.from_text(USER), None, "string").read(line)
