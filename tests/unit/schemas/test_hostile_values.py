"""No value that a client sends may take more than moments, whether it fits its schema or not."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.collector.parse import parse_body
from penstock.collector.shape import EventShape
from penstock.errors import RecordInvalid
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.schemas.avro.model import RecordType
from tests.bounded import within

SECONDS = 2
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
FIXED_PRICE = {"type": "fixed", "name": "Price", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}
NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


def tree(levels: int) -> Any:
    """Records nested in unions of two records that differ in their last level only."""
    if levels == 0:
        return ["null", "string"]
    fields = [{"name": "a", "type": tree(levels - 1)}]
    return ["null", {"type": "record", "name": f"R{levels}", "fields": fields}, {"type": "map", "values": "int"}]


TWINS = {
    "type": "record",
    "name": "Left",
    "fields": [
        {
            "name": "n",
            "type": [
                "null",
                "Left",
                {"type": "record", "name": "Right", "fields": [{"name": "n", "type": ["null", "Left", "Right"]}]},
            ],
        }
    ],
}


def nested(name: str, levels: int, leaf: str) -> str:
    return f'{{"{name}":' * levels + leaf + "}" * levels


def event_schema(field_type: Any) -> Schema:
    node = {"type": "record", "name": "E", "fields": [{"name": "x", "type": field_type}]}
    return Schema.from_text(json.dumps(node))


def decode_event(field_type: Any, text: str) -> str:
    """What the collector says of an event."""
    root = event_schema(field_type).type
    assert isinstance(root, RecordType)
    try:
        EventShape(root).decode(f'{{"x":{text}}}'.encode())
    except RecordInvalid as error:
        return error.message
    return "taken"


def encode_value(field_type: Any, value: object) -> str:
    """What the codec says of a record."""
    try:
        AvroCodec(MemoryRegistry()).encoder("s", event_schema(field_type))({"x": value})
    except RecordInvalid as error:
        return error.message
    return "taken"


@pytest.mark.parametrize("price", [PRICE, FIXED_PRICE, ["null", PRICE], ["null", "long", FIXED_PRICE]])
@pytest.mark.parametrize(
    "number",
    ["1e999999999", "-1e999999999", "0e999999999", "1e-999999999", "0e-999999999", '"1e999999999"', "1e5000000"],
)
def test_a_number_with_a_huge_exponent_is_refused_at_once(price: Any, number: str) -> None:
    assert "x" in within(SECONDS, decode_event, price, number)[:1]
    message = within(SECONDS, encode_value, price, Decimal(number.strip('"')))
    assert message.startswith("x: Decimal")


@pytest.mark.parametrize("kind", ["int", "long", "double", "float", "string", ["null", "long", "string"]])
def test_a_number_with_a_huge_exponent_is_refused_by_every_type(kind: Any) -> None:
    assert within(SECONDS, decode_event, kind, "1e999999999") != "taken"
    assert within(SECONDS, encode_value, kind, Decimal("1e999999999")) != "taken"
    assert within(SECONDS, encode_value, kind, 10**20_000).startswith("x: ")


@pytest.mark.parametrize("leaf", ["null", "5", '"x"', "1.5", '{"m":{}}'])
@pytest.mark.parametrize(
    ("field_type", "name"),
    [(TWINS, "n"), (NODE, "next"), (tree(20), "a"), (["null", TWINS], "n"), (["null", NODE, "string"], "next")],
)
@pytest.mark.parametrize("levels", [20, 60, 150])
def test_nested_values_take_moments_however_deep_the_one_stands_that_does_not_fit(
    field_type: Any, name: str, leaf: str, levels: int
) -> None:
    within(SECONDS, decode_event, field_type, nested(name, levels, leaf))
    within(SECONDS, encode_value, field_type, json.loads(nested(name, levels, leaf)))


def test_wide_values_are_checked_in_linear_time() -> None:
    many = ["null", {"type": "array", "items": ["null", "long", NODE, {"type": "map", "values": ["null", "long"]}]}]
    items = ",".join(['{"a":1,"b":null}'] * 20_000)
    assert within(SECONDS, decode_event, many, f"[{items}]") == "taken"
    assert "x" in within(SECONDS, decode_event, many, f'[{items},"no"]')[:1]


def records(count: int, width: int) -> list[Any]:
    """Branches of a union whose fields are all the same, and may all be left out but one."""
    fields: list[Any] = [{"name": f"f{number}", "type": ["null", "string"], "default": None} for number in range(width)]
    names = [f"R{number}" for number in range(count)]
    return [
        "null",
        *({"type": "record", "name": name, "fields": [*fields, {"name": "z", "type": "int"}]} for name in names),
    ]


@pytest.mark.parametrize("item", ["{}", '{"z":"a"}', '{"f0":1}', '{"f0":"a"}', '{"f0":null,"z":null}'])
def test_many_items_that_fit_none_of_many_records_are_refused_at_once(item: str) -> None:
    items = {"type": "array", "items": records(20, 20)}
    for size in (9_000, 64_000):
        assert within(3, decode_event, items, f"[{','.join([item] * (size // len(item)))}]") != "taken"


def test_items_of_a_hundred_records_with_fields_of_their_own_are_taken() -> None:
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    branches = [
        {
            "type": "record",
            "name": f"R{number}",
            "fields": [{"name": "at", "type": moment}, {"name": f"f{number}", "type": "int"}],
        }
        for number in range(100)
    ]
    items = [json.dumps({"at": "2026-07-30T12:00:00Z", f"f{number % 100}": 1}) for number in range(500)]
    assert within(SECONDS, decode_event, {"type": "array", "items": branches}, f"[{','.join(items)}]") == "taken"


def test_a_value_too_long_to_show_is_refused_at_once() -> None:
    long = "x" * 3_000_000
    assert len(within(SECONDS, decode_event, "int", json.dumps(long))) < 200
    assert len(within(SECONDS, decode_event, "int", json.dumps([long]))) < 200
    enum = {"type": "enum", "name": "S", "symbols": [f"S{number}" for number in range(1000)]}
    assert within(SECONDS, decode_event, enum, json.dumps(long)) != "taken"


@pytest.mark.parametrize(("symbols", "length"), [(500, 90), (500, 5), (30, 60)])
def test_many_misspelled_symbols_are_refused_at_once(symbols: int, length: int) -> None:
    enum = {"type": "enum", "name": "S", "symbols": [f"S{number:0{length}}" for number in range(symbols)]}
    root = event_schema(enum).type
    assert isinstance(root, RecordType)
    body = "\n".join([json.dumps({"x": f"S{number:0{length}}x"}) for number in range(5_000)]).encode()

    def longest_message() -> int:
        parsed = parse_body(body, b"application/x-ndjson", EventShape(root), 5_000)
        return max(len(event.error.message) for event in parsed.events)

    assert within(SECONDS, longest_message) < 3_000


def test_many_unknown_fields_are_refused_at_once() -> None:
    fields = [{"name": f"field_number_{number}", "type": ["null", "int"], "default": None} for number in range(500)]
    root = Schema.from_text(json.dumps({"type": "record", "name": "E", "fields": fields})).type
    assert isinstance(root, RecordType)
    shape = EventShape(root)

    def refuse_many() -> int:
        refused = 0
        for number in range(2_000):
            try:
                shape.decode(f'{{"field_numbre_{number}x":1}}'.encode())
            except RecordInvalid:
                refused += 1
        return refused

    assert within(2 * SECONDS, refuse_many) == 2_000
