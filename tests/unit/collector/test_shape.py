import json
from typing import Any

import pytest

from penstock.collector.config import PRODUCT_EVENT
from penstock.collector.shape import EventShape
from penstock.errors import RecordInvalid
from penstock.schemas import Schema
from penstock.schemas.avro.model import RecordType

NOW = "2026-01-31T12:00:00.000Z"
EVENT = {"Event_Type": "ListingView", "Event_Version": "1", "User_ID": "u-1"}


def record(*fields: dict[str, Any]) -> RecordType:
    root = Schema.from_text(json.dumps({"type": "record", "name": "shop.Sale", "fields": fields})).type
    assert isinstance(root, RecordType)
    return root


def finished(shape: EventShape, event: object) -> dict[str, Any]:
    decoded = shape.decode(json.dumps(event).encode())
    shape.take_id(decoded)
    value, _ = shape.finish(decoded, NOW)
    parsed: dict[str, Any] = json.loads(value)
    return parsed


@pytest.fixture(scope="module")
def product() -> EventShape:
    root = Schema.from_file(PRODUCT_EVENT).type
    assert isinstance(root, RecordType)
    return EventShape(root, key_field="User_ID", time_field="Server_Time")


@pytest.mark.parametrize("given", [{}, {"Server_Time": None}])
def test_the_time_is_set_when_it_is_absent_or_null(product: EventShape, given: dict[str, Any]) -> None:
    assert finished(product, EVENT | given)["Server_Time"] == NOW


def test_a_given_time_stays(product: EventShape) -> None:
    assert finished(product, EVENT | {"Server_Time": "yesterday"})["Server_Time"] == "yesterday"


def test_fields_left_out_have_their_defaults(product: EventShape) -> None:
    assert finished(product, EVENT) == {**EVENT, "Listing_ID": None, "Server_Time": NOW, "Device_Type": None}


def test_the_key_is_the_key_fields_text(product: EventShape) -> None:
    assert product.finish(product.decode(json.dumps(EVENT).encode()), NOW)[1] == b"u-1"


def test_an_event_id_beside_the_fields_is_taken_out(product: EventShape) -> None:
    event = product.decode(json.dumps(EVENT | {"event_id": "mine"}).encode())
    assert product.take_id(event) == "mine"
    assert "event_id" not in json.loads(product.encode(event))


def test_an_event_id_among_the_fields_stays() -> None:
    shape = EventShape(record({"name": "event_id", "type": "string"}))
    event = shape.decode(b'{"event_id": "mine"}')
    assert shape.take_id(event) == "mine"
    assert json.loads(shape.encode(event)) == {"event_id": "mine"}


@pytest.mark.parametrize("event_id", ["", "x" * 201])
def test_an_event_id_of_a_useless_length_is_refused(product: EventShape, event_id: str) -> None:
    with pytest.raises(RecordInvalid, match="event_id"):
        product.decode(json.dumps(EVENT | {"event_id": event_id}).encode())
    shape = EventShape(record({"name": "event_id", "type": "string"}))
    with pytest.raises(RecordInvalid, match="event_id"):
        shape.take_id(shape.decode(json.dumps({"event_id": event_id}).encode()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"User_ID": 42}, "User_ID: 42 is not a string"),
        ({"User_ID": None}, "User_ID: null is not a string"),
        ({"Device_Type": True}, "Device_Type: true is not a string, nor null"),
        ({"Lising_ID": "l-1"}, "Lising_ID: not a field of penstock.events.Event; did you mean Listing_ID?"),
        ({"event_id": 7}, "event_id: 7 is not a string"),
    ],
)
def test_what_does_not_fit_is_named_by_field_and_value(product: EventShape, change: Any, message: str) -> None:
    with pytest.raises(RecordInvalid) as caught:
        product.decode(json.dumps(EVENT | change).encode())
    assert caught.value.message == message


def test_a_missing_field_is_named(product: EventShape) -> None:
    with pytest.raises(RecordInvalid, match="Event_Version: missing"):
        product.decode(b'{"Event_Type": "x", "User_ID": "u"}')


@pytest.mark.parametrize("text", [b"5", b'"x"', b"null", b"[]", b"true"])
def test_what_is_no_object_is_no_event(product: EventShape, text: bytes) -> None:
    with pytest.raises(RecordInvalid, match="is not a JSON object"):
        product.decode(text)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nope", b'{"Event_Type": "\xff"}', b'{"Event_Type": "\\ud800"}', b"[" * 100_000]
)
def test_what_is_no_json_is_refused(product: EventShape, text: bytes) -> None:
    with pytest.raises(RecordInvalid, match="not JSON"):
        product.decode(text)


@pytest.mark.parametrize(
    ("avro_type", "fitting", "not_fitting"),
    [
        ("int", [0, -(2**31), 2**31 - 1], [2**31, 1.5, "1", True]),
        ("long", [2**63 - 1], [2**63]),
        ("float", [1, 1.5, "NaN"], [1e39, "x"]),
        ("double", [1, 1e300], ["x", None]),
        ("boolean", [True], [0, "true"]),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, ["A"], ["C", 1]),
        ({"type": "array", "items": "int"}, [[], [1, 2]], [[1, "x"], "x"]),
        ({"type": "map", "values": "string"}, [{}, {"a": "b"}], [{"a": 1}]),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}, [{"x": 1}], [{}, {"x": "1"}]),
        (["null", "string", "long"], [None, "x", 5], [1.5, []]),
        ({"type": "long", "logicalType": "timestamp-millis"}, [1, "2026-01-31T12:00:00Z"], ["soon"]),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, [12.5, "12.50"], [1.234, "x"]),
        ({"type": "string", "logicalType": "uuid"}, ["0b9f3c4e-6a55-4c5b-9f6e-2f3f4f2f9d10"], ["x"]),
    ],
)
def test_every_avro_type_is_checked_and_kept_as_it_was_sent(
    avro_type: Any, fitting: list[object], not_fitting: list[object]
) -> None:
    shape = EventShape(record({"name": "x", "type": avro_type}))
    for value in fitting:
        assert finished(shape, {"x": value}) == {"x": value}
    for value in not_fitting:
        with pytest.raises(RecordInvalid, match=r"^x"):
            shape.decode(json.dumps({"x": value}).encode())


def test_defaults_of_rich_fields_are_each_events_own() -> None:
    shape = EventShape(record({"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a"]}))
    first, second = shape.decode(b"{}"), shape.decode(b"{}")
    first.field_0.append("b")
    assert json.loads(shape.encode(second)) == {"tags": ["a"]}


def test_a_number_keeps_its_digits_in_a_decimal() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 20}
    shape = EventShape(record({"name": "x", "type": decimal}))
    assert shape.encode(shape.decode(b'{"x": 0.12345678901234567890}')) == b'{"x":0.12345678901234567890}'


def test_field_names_that_are_words_of_python_are_fine() -> None:
    names = ["class", "from", "self", "__init__", "_x"]
    shape = EventShape(record(*({"name": name, "type": "int"} for name in names)), key_field="class")
    event = dict.fromkeys(names, 1)
    assert finished(shape, event) == event


@pytest.mark.parametrize(
    ("avro_type", "default", "others"),
    [(["int", "string"], 0, [False]), (["long", "string"], 1, [True]), (["boolean", "string"], False, [0])],
)
def test_a_value_that_equals_the_default_must_be_of_its_type(
    avro_type: Any, default: object, others: list[object]
) -> None:
    shape = EventShape(record({"name": "x", "type": avro_type, "default": default}))
    assert finished(shape, {}) == {"x": default}
    for other in others:
        with pytest.raises(RecordInvalid, match=r"^x"):
            shape.decode(json.dumps({"x": other}).encode())


@pytest.mark.parametrize(
    ("avro_type", "default", "sent"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, "\u0004\u00e2", b"12.50"),
        ([{"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, "null"], "\u00ff", b"-0.01"),
        ({"type": "array", "items": {"type": "bytes", "logicalType": "decimal", "precision": 5}}, ["\u0001"], b'["1"]'),
        ({"type": "int", "logicalType": "date"}, 1, b'"1970-01-02"'),
        ({"type": "long", "logicalType": "timestamp-millis"}, 0, b'"1970-01-01T00:00:00+00:00"'),
        ("bytes", "\u00ff", '"\u00ff"'.encode()),
        (["double", "null"], 1, b"1.0"),
    ],
)
def test_a_default_is_sent_in_the_form_that_json_has(avro_type: Any, default: object, sent: bytes) -> None:
    shape = EventShape(record({"name": "x", "type": avro_type, "default": default}))
    text = shape.encode(shape.decode(b"{}"))
    assert text == b'{"x":' + sent + b"}"
    assert shape.encode(shape.decode(text)) == text
