from __future__ import annotations

import datetime as dt
import json
from collections import OrderedDict
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import fastavro
import pytest

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.schemas import AvroCodec, MemoryRegistry, Schema

ITEM = {
    "type": "record",
    "name": "Item",
    "fields": [{"name": "sku", "type": "string"}, {"name": "price", "type": "double"}],
}
STATUS = {"type": "enum", "name": "Status", "symbols": ["OPEN", "CLOSED"]}
UTC = dt.UTC


def record(**fields: Any) -> dict[str, Any]:
    """A record type with these fields; a tuple is a type and its default."""
    listed = [
        {"name": name, "type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return {"type": "record", "name": "Event", "fields": listed}


def logical(base: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": kind, **more}


def round_trip(node: Any, value: Any) -> Any:
    codec = AvroCodec(MemoryRegistry())
    return codec.decode(codec.encoder("subject", Schema.from_text(json.dumps(node)))(value))


def refusal(node: Any, value: Any) -> RecordInvalid:
    with pytest.raises(RecordInvalid) as caught:
        round_trip(node, value)
    return caught.value


@pytest.mark.parametrize(
    ("node", "value", "message"),
    [
        (record(Server_Time="string"), {"Server_Time": 17}, "Server_Time: 17 is not a string"),
        (
            record(items={"type": "array", "items": ITEM}),
            {"items": [{"sku": "a", "price": 1.0}] * 3 + [{"sku": "b", "price": "x"}]},
            "items[3].price: 'x' is not a double",
        ),
        (record(by={"type": "map", "values": "int"}), {"by": {"a": 1, "b": "2"}}, "by['b']: '2' is not an int"),
        (record(by={"type": "map", "values": "int"}), {"by": {1: 1}}, "by: the key 1 is not a string"),
        (record(a="string", b="string"), {"a": "x"}, "b: missing, and it has no default"),
        (record(a="string"), {"a": "x", "b": 1}, "b: not a field of Event"),
        (
            record(a=("string", ""), Server_Time=("string", "")),
            {"Sever_Time": "x"},
            "Sever_Time: not a field of Event; did you mean Server_Time?",
        ),
        (record(ok="boolean"), {"ok": 1}, "ok: 1 is not a boolean"),
        (record(n="null"), {"n": 0}, "n: 0 is not null"),
        (record(n="int"), {"n": True}, "n: True is a boolean, not an int"),
        (record(n="int"), {"n": 1.0}, "n: 1.0 is not an int"),
        (record(n="int"), {"n": 2**31}, "n: 2147483648 does not fit an int (-2147483648 to 2147483647)"),
        (record(n="long"), {"n": -(2**63) - 1}, "n: -9223372036854775809 does not fit a long"),
        (record(x="double"), {"x": "1.5"}, "x: '1.5' is not a double"),
        (record(x="double"), {"x": True}, "x: True is a boolean, not a double"),
        (record(x="double"), {"x": 2**53 + 1}, "x: 9007199254740993 cannot be held exactly by a double"),
        (record(x="double"), {"x": 10**400}, "cannot be held exactly by a double"),
        (record(x="float"), {"x": 1e300}, "x: 1e+300 is too large for a float of 32 bits"),
        (record(x="float"), {"x": 2**24 + 1}, "x: 16777217 cannot be held exactly by a float of 32 bits"),
        (record(b="bytes"), {"b": "text"}, "b: 'text' is not bytes"),
        (record(s="string"), {"s": "\ud800"}, "half of a surrogate pair"),
        (record(f={"type": "fixed", "name": "F", "size": 2}), {"f": b"abc"}, "f: b'abc' has 3 bytes, not 2"),
        (record(s=STATUS), {"s": "OPNE"}, "s: 'OPNE' is not one of OPEN, CLOSED; did you mean OPEN?"),
        (record(a={"type": "array", "items": "string"}), {"a": "abc"}, "a: 'abc' is not an array"),
        (record(m={"type": "map", "values": "int"}), {"m": []}, "m: [] is not a map"),
        (record(), [], "[] is not a record Event"),
        (record(a="string"), "text", "'text' is not a record Event"),
        ("int", "1", "'1' is not an int"),
        (record(n=["null", "int"]), {"n": "1"}, "n: '1' is not an int, nor null"),
        (record(n=["null", "int", "string"]), {"n": 1.5}, "n: 1.5 is not null or int or string"),
        (record(i=["null", ITEM]), {"i": {"sku": "a", "price": "x"}}, "i.price: 'x' is not a double"),
        (record(i=["null", ITEM, STATUS]), {"i": {"sku": "a"}}, "i.price: missing, and it has no default"),
        (record(a=["null", {"type": "array", "items": "int"}]), {"a": [1, "2"]}, "a[1]: '2' is not an int"),
        (record(at=logical("long", "timestamp-millis")), {"at": dt.datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001 - on purpose
        (record(at=logical("long", "timestamp-millis")), {"at": 10**18}, "at: 1000000000000000000 is out of range"),
        (record(at=logical("long", "local-timestamp-micros")), {"at": dt.datetime.now(UTC)}, "has a time zone"),
        (record(on=logical("int", "date")), {"on": dt.datetime.now(UTC)}, "is a datetime, not a date"),
        (record(on=logical("int", "date")), {"on": "2026-01-01"}, "on: '2026-01-01' is not a date"),
        (record(t=logical("int", "time-millis")), {"t": 86_400_000}, "t: 86400000 is out of range for a time-millis"),
        (record(t=logical("long", "time-micros")), {"t": dt.time(tzinfo=UTC)}, "has a time zone"),
        (record(u=logical("string", "uuid")), {"u": "no"}, "u: 'no' is not a UUID"),
        (record(d=logical("bytes", "decimal", precision=4, scale=2)), {"d": 1}, "d: 1 is not a Decimal"),
        (
            record(d=logical("bytes", "decimal", precision=4, scale=2)),
            {"d": Decimal("1.234")},
            "more than 2 digits after",
        ),
        (
            record(d=logical("bytes", "decimal", precision=4, scale=2)),
            {"d": Decimal("123.4")},
            "has more than 4 digits",
        ),
        (record(d=logical("bytes", "decimal", precision=4)), {"d": Decimal("NaN")}, "is not a finite number"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field_and_value(node: Any, value: Any, message: str) -> None:
    assert message in refusal(node, value).message


@pytest.mark.parametrize(
    ("node", "value", "decoded"),
    [
        (record(a="string", b=("int", 5)), {"a": "x"}, {"a": "x", "b": 5}),
        (record(a=("bytes", "\u00ff")), {}, {"a": b"\xff"}),
        (record(a=(logical("int", "date"), 0)), {}, {"a": dt.date(1970, 1, 1)}),
        (record(a=(ITEM, {"sku": "x", "price": 1})), {}, {"a": {"sku": "x", "price": 1.0}}),
        (record(x="double"), {"x": 5}, {"x": 5.0}),
        (record(x=["null", "double"]), {"x": 5}, {"x": 5.0}),
        (record(x=["null", "long", "double"]), {"x": 5}, {"x": 5}),
        (record(a={"type": "array", "items": "int"}), {"a": (1, 2)}, {"a": [1, 2]}),
        (record(a="string"), OrderedDict(a="x"), {"a": "x"}),
        (record(b="bytes"), {"b": bytearray(b"x")}, {"b": b"x"}),
        (
            record(at=logical("long", "timestamp-millis")),
            {"at": 1},
            {"at": dt.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)},
        ),
        (record(u=logical("string", "uuid")), {"u": str(UUID(int=7))}, {"u": UUID(int=7)}),
        (
            record(d=logical("fixed", "decimal", name="D", size=4, precision=5, scale=2)),
            {"d": Decimal("-12.5")},
            {"d": Decimal("-12.50")},
        ),
        (record(s="string"), {"s": "x" * 100_000}, {"s": "x" * 100_000}),
        (record(n="long"), {"n": -(2**63)}, {"n": -(2**63)}),
    ],
)
def test_what_fits_is_read_back_in_the_form_of_its_type(node: Any, value: Any, decoded: Any) -> None:
    assert round_trip(node, value) == decoded


def test_symbols_may_be_given_as_an_enum_of_ones_own() -> None:
    class Status(StrEnum):
        OPEN = "OPEN"

    assert round_trip(record(s=STATUS), {"s": Status.OPEN}) == {"s": "OPEN"}


def test_a_tuple_says_which_branch_of_a_union_is_meant() -> None:
    two = [{"type": "record", "name": name, "fields": [{"name": "x", "type": "int"}]} for name in ("A", "B")]
    codec = AvroCodec(MemoryRegistry())
    encode = codec.encoder("subject", Schema.from_text(json.dumps(two)))
    assert encode(("B", {"x": 1})) != encode({"x": 1}) == encode(("A", {"x": 1}))
    assert codec.decode(encode(("B", {"x": 1}))) == {"x": 1}


def test_a_value_that_another_branch_would_take_is_refused_with_the_tuple_to_give() -> None:
    node = record(id=[logical("string", "uuid"), STATUS, {"type": "array", "items": "int"}, "bytes"])
    assert "give ('Status', value)" in refusal(node, {"id": "OPEN"}).hint
    assert "give ('bytes', value)" in refusal(node, {"id": b"ab"}).hint
    assert round_trip(node, {"id": ("bytes", b"ab")}) == {"id": b"ab"}


def test_a_tuple_that_names_no_branch_is_refused() -> None:
    wrong = refusal(record(n=["null", "int"]), {"n": ("long", 1)})
    assert "n: ('long', 1) names no branch of the union" in wrong.message
    assert "null, int" in wrong.hint


def test_a_value_that_holds_itself_or_goes_too_deep_is_refused() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    endless: dict[str, Any] = {}
    endless["next"] = endless
    deep = None
    for _ in range(10_000):
        deep = {"next": deep}
    for value in (endless, deep):
        assert "nested deeper than 200 levels" in refusal(node, value).message
    assert round_trip(node, {"next": {"next": None}}) == {"next": {"next": None}}


def test_a_long_value_is_cut_in_messages() -> None:
    assert len(refusal(record(n="int"), {"n": "x" * 10_000}).message) < 100


DECIMALS = [
    logical("bytes", "decimal", precision=5, scale=2),
    logical("fixed", "decimal", name="D", size=3, precision=5, scale=2),
]


@pytest.mark.parametrize("node", DECIMALS)
@pytest.mark.parametrize(
    "value", ["-0.00", "-0", "0.00", "-0.01", "-1.28", "1.28", "-999.99", "999.99", "1E+2", "0E+1"]
)
def test_decimals_come_back_as_they_were(node: Any, value: str) -> None:
    found = round_trip(record(d=node), {"d": Decimal(value)})["d"]
    assert found == Decimal(value)
    assert found.as_tuple().exponent == -2


@pytest.mark.parametrize("node", DECIMALS)
def test_a_decimal_with_more_digits_than_its_type_is_refused_when_read(node: Any) -> None:
    codec = AvroCodec(MemoryRegistry())
    codec.encoder("subject", Schema.from_text(json.dumps(record(d=node))))
    body = (1_000_00).to_bytes(3, "big")
    message = bytes(4) + b"\1" + (body if node["type"] == "fixed" else b"\6" + body)
    with pytest.raises(RecordUndecodable, match=r"d at byte .: a decimal has more than 5 digits"):
        codec.decode(message)


def test_a_decimal_of_a_million_bytes_is_refused_at_once() -> None:
    codec = AvroCodec(MemoryRegistry())
    codec.encoder("subject", Schema.from_text(json.dumps(DECIMALS[0])))
    with pytest.raises(RecordUndecodable, match="more than 5 digits"):
        codec.decode(bytes(4) + b"\1" + b"\x80\x89\x7a" + b"\x7f" * 1_000_000)


INNER = {
    "record": {
        "type": "record",
        "name": "Inner",
        "namespace": "",
        "fields": [{"name": "next", "type": ["null", "Inner"]}],
    },
    "enum": {"type": "enum", "name": "Inner", "namespace": "", "symbols": ["A"]},
    "fixed": {"type": "fixed", "name": "Inner", "namespace": "", "size": 1},
}


@pytest.mark.parametrize(("kind", "value"), [("record", {"next": {"next": None}}), ("enum", "A"), ("fixed", b"x")])
def test_a_type_of_the_null_namespace_may_stand_inside_a_namespace(kind: str, value: Any) -> None:
    node = {"type": "record", "name": "Outer", "namespace": "a.b", "fields": [{"name": "inner", "type": INNER[kind]}]}
    schema = Schema.from_text(json.dumps(node))
    assert round_trip(node, {"inner": value}) == {"inner": value}
    canonical = fastavro.schema.to_parsing_canonical_form(node)
    assert schema.fingerprint == fastavro.schema.fingerprint(canonical, "MD5")
    assert '"Inner"' in canonical
