from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RecordInvalid, RecordUndecodable, UsageError
from penstock.kafka.keys import key_serde


@pytest.mark.parametrize(
    ("key_type", "key", "encoded"),
    [
        ("string", "Zürich", b"Z\xc3\xbcrich"),
        ("int", 1, b"\x00\x00\x00\x01"),
        ("int", -2, b"\xff\xff\xff\xfe"),
        ("long", 1, b"\x00\x00\x00\x00\x00\x00\x00\x01"),
        ("double", 1.5, b"\x3f\xf8\x00\x00\x00\x00\x00\x00"),
        ("bytes", b"\x00raw", b"\x00raw"),
    ],
)
def test_keys_are_encoded_like_the_java_serializers_encode_them(key_type: str, key: object, encoded: bytes) -> None:
    serde = key_serde(key_type)
    assert serde.encode(key) == encoded
    assert serde.decode(encoded) == key


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_comes_back(number: int) -> None:
    serde = key_serde("long")
    assert serde.decode(serde.encode(number)) == number


@pytest.mark.parametrize(
    ("key_type", "key", "message"),
    [
        ("string", 17, "key: 17 is not string"),
        ("string", "\ud800", "is not string"),
        ("int", "17", "key: '17' is not int"),
        ("int", True, "key: True is not int"),
        ("int", 2**31, "key: 2147483648 is out of range for int"),
        ("long", 2**63, "is out of range for long"),
        ("long", 1.0, "key: 1.0 is not long"),
        ("double", "1", "key: '1' is not double"),
        ("double", 10**400, "is out of range for double"),
        ("bytes", "text", "key: 'text' is not bytes"),
    ],
)
def test_a_key_of_another_type_is_refused_with_its_value(key_type: str, key: object, message: str) -> None:
    with pytest.raises(RecordInvalid, match=message):
        key_serde(key_type).encode(key)


def test_a_whole_number_is_a_fine_double() -> None:
    assert key_serde("double").encode(3) == struct.pack(">d", 3.0)


@pytest.mark.parametrize(
    ("key_type", "data"), [("int", b"123"), ("long", b"1234"), ("double", b""), ("string", b"\xff")]
)
def test_bytes_that_are_no_such_key_are_undecodable(key_type: str, data: bytes) -> None:
    with pytest.raises(RecordUndecodable, match="key: "):
        key_serde(key_type).decode(data)


def test_an_unknown_type_of_key_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refused:
        key_serde("varchar")
    assert "string, int, long, double, bytes" in refused.value.hint
