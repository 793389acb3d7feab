import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.deadletters.letter import DeadLetter
from penstock.deadletters.lines import letter_json, read_file
from penstock.errors import ConfigError, UsageError
from penstock.events.record import Offset, Origin, Partition, TopicName

LETTER = DeadLetter(
    Origin(TopicName("events.dead"), Partition(0), Offset(7)),
    Origin(TopicName("events"), Partition(0), Offset(3)),
    "events",
    "record.invalid",
    "no",
    "2026-01-31T12:00:00.000Z",
    b"key",
    b"value",
    (("trace", b"1"),),
)
BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


def lines(file: Path, *data: object) -> Path:
    file.write_text("\n".join(json.dumps(each) for each in data), encoding="utf-8")
    return file


@given(key=BYTES, value=BYTES, header=BYTES)
def test_a_letter_comes_back_from_a_file_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, key: bytes | None, value: bytes | None, header: bytes | None
) -> None:
    letter = replace(LETTER, key=key, value=value, headers=(("trace", header),))
    file = tmp_path_factory.getbasetemp() / "letters.jsonl"
    assert list(read_file(lines(file, letter_json(letter)))) == [letter]


def test_a_repaired_value_may_be_plain_json(tmp_path: Path) -> None:
    repaired = {**letter_json(LETTER), "value": {"User_ID": "42", "name": "ä"}}
    (letter,) = read_file(lines(tmp_path / "f", repaired))
    assert letter.value == '{"User_ID":"42","name":"ä"}'.encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Expecting property name"),
        ('{"letter": "a/0/1", "origin": "b/0/1"}', "value is missing"),
        ('{"letter": "a", "origin": "b/0/1", "value": null}', "letter and origin are"),
        ("[]", "indices must be integers"),
        ('{"letter": "a/0/1", "origin": "b/0/1", "value": {"base64": "*"}}', "base64"),
        ('{"letter": "a/0/1", "origin": "b/0/1", "value": "", "headers": ["x"]}', "not enough values"),
    ],
)
def test_a_line_that_is_no_letter_is_told_with_its_number(line: str, reason: str, tmp_path: Path) -> None:
    file = lines(tmp_path / "f", letter_json(LETTER))
    file.write_text(f"{file.read_text()}\n\n{line}\n")
    with pytest.raises(ConfigError, match=reason) as refused:
        list(read_file(file))
    assert refused.value.problems[0].place == f"{file}:3"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_file(tmp_path / "none"))
