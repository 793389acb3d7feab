from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError, RecordInvalid
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.schemas.from_json import from_json, parse_json


def logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


def read(schema: Any, text: str | bytes) -> object:
    line = text if isinstance(text, bytes) else text.encode()
    return from_json(parse_json(line), Schema.from_text(json.dumps(schema)).type)


PRICE = logical("bytes", "decimal", precision=30, scale=2)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ("bytes", r'"a\u00ff"', b"a\xff"),
        ({"type": "fixed", "name": "Two", "size": 2}, '"ab"', b"ab"),
        (PRICE, "12.50", Decimal("12.50")),
        (PRICE, '"12.50"', Decimal("12.50")),
        (PRICE, "12345678901234567890.12", Decimal("12345678901234567890.12")),
        (PRICE, "12", Decimal(12)),
        (logical("int", "date"), '"2026-07-30"', dt.date(2026, 7, 30)),
        (logical("long", "time-micros"), '"12:30:00.5"', dt.time(12, 30, 0, 500_000)),
        (logical("long", "timestamp-millis"), '"2026-07-30T12:00:00Z"', dt.datetime(2026, 7, 30, 12, tzinfo=dt.UTC)),
        (logical("long", "local-timestamp-millis"), '"2026-07-30T12:00:00"', dt.datetime(2026, 7, 30, 12)),  # noqa: DTZ001 - local on purpose
        (logical("long", "timestamp-millis"), "1700000000000", 1_700_000_000_000),
        ("double", "1.1", 1.1),
        ("double", '"-Infinity"', -math.inf),
        ("string", '"NaN"', "NaN"),
        ({"type": "array", "items": PRICE}, '["1", 2.5]', [Decimal(1), Decimal("2.5")]),
        ({"type": "map", "values": "bytes"}, '{"a": "b"}', {"a": b"b"}),
    ],
)
def test_what_json_cannot_express_is_written_as_text_or_numbers(schema: Any, text: str, value: object) -> None:
    assert read(schema, text) == value


@pytest.mark.parametrize(
    ("branches", "text", "value"),
    [
        (["null", logical("long", "timestamp-micros")], "null", None),
        (["null", logical("int", "date")], '"2026-07-30"', dt.date(2026, 7, 30)),
        (["null", logical("long", "timestamp-millis"), "string"], '"2026-07-30T12:00:00Z"', "2026-07-30T12:00:00Z"),
        (["null", "bytes", "string"], '"text"', "text"),
        (["null", "bytes"], '"text"', b"text"),
        (["null", PRICE], "1.50", Decimal("1.50")),
        (["null", "double"], "1.5", 1.5),
        (["int", "string"], '{"string": "x"}', ("string", "x")),
        (["null", {"type": "array", "items": "bytes"}], '["x"]', [b"x"]),
    ],
)
def test_a_union_takes_the_value_as_it_is_or_else_read_or_else_by_its_branchs_name(
    branches: list[Any], text: str, value: object
) -> None:
    assert read(branches, text) == value


def test_fields_are_read_by_their_types_and_unknown_ones_are_left_to_the_codec() -> None:
    schema = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "data", "type": "bytes"}, {"name": "next", "type": ["null", "Node"], "default": None}],
    }
    assert read(schema, '{"data": "a", "next": {"data": "b", "next": null}, "more": 1}') == {
        "data": b"a",
        "next": {"data": b"b", "next": None},
        "more": 1,
    }


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        (logical("long", "timestamp-millis"), '"yesterday"', "'yesterday'"),
        (logical("long", "timestamp-millis"), '"2026-07-30T12:00:00"', "time zone"),
        ("bytes", r'"\u0100"', "bytes"),
        (PRICE, '"much"', "'much'"),
        (PRICE, "true", "True"),
        ("string", "1.5", "1.5"),
        ("int", "1.5", "1.5"),
        ("double", "1e400", "1E"),
    ],
)
def test_what_has_no_such_form_is_refused_by_the_codec(schema: Any, text: str, message: str) -> None:
    encode = AvroCodec(MemoryRegistry()).encoder("any", Schema.from_text(json.dumps(schema)))
    with pytest.raises(RecordInvalid, match=message):
        encode(read(schema, text))


@pytest.mark.parametrize("text", [b"", b"{", b"nonsense", b'"\xff"', b"NaN", b"[" * 100_000, b'{"a": 1} {"b": 2}'])
def test_text_that_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(RecordInvalid, match="not JSON"):
        parse_json(text)


def test_a_record_nested_too_deeply_is_refused() -> None:
    schema = {"type": "record", "name": "N", "fields": [{"name": "n", "type": {"type": "array", "items": "N"}}]}
    depth = 900
    with pytest.raises(RecordInvalid, match="nested too deeply"):
        read(schema, '{"n":[' * depth + "]}" * depth)


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_a_typed_error(text: bytes) -> None:
    try:
        read(["null", PRICE, {"type": "map", "values": [logical("int", "date"), "bytes"]}], text)
    except PenstockError as error:
        assert isinstance(error, RecordInvalid)  # noqa: PT017 - no error is fine too
