from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.schemas import AvroCodec, MemoryRegistry, RegisteredSchema, Schema
from penstock.schemas.avro.misreading import Kind, misreadings
from penstock.schemas.evolution import Compatibility, reasons_against
from tests.unit.schemas.strategies import evolved, record_schemas, same, values


def schema(node: Any) -> Schema:
    return Schema.from_text(json.dumps(node))


def record(*fields: Any, name: str = "Event", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, avro_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": avro_type, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "Status", "symbols": list(symbols), **more}


def fixed(size: int, name: str = "Id") -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def found(reader: Any, writer: Any) -> list[tuple[str, str, str]]:
    return [(item.kind.value, *item.place) for item in misreadings(schema(reader).type, schema(writer).type)]


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ("long", "int"),
        ("float", "long"),
        ("double", "float"),
        ("string", "bytes"),
        ("bytes", "string"),
        (array("long"), array("int")),
        ({"type": "map", "values": "double"}, {"type": "map", "values": "int"}),
        (["null", "string"], "string"),
        ("string", ["string"]),
        (["null", "string", "int"], ["string", "null"]),
        (["null", "double"], ["int", "long"]),
        (record(field("a", "int")), record(field("a", "int"), field("b", "int"))),
        (record(field("a", "int"), field("b", "int", default=1)), record(field("a", "int"))),
        (record(field("b", "int", aliases=["a"])), record(field("a", "int"))),
        (record(name="other.Event"), record(name="Event")),
        (record(name="New", aliases=["Event"]), record(name="Event")),
        (enum("A", "B"), enum("A")),
        (enum("A", default="A"), enum("A", "B")),
        (fixed(4), fixed(4)),
        ({"type": "long", "logicalType": "timestamp-millis"}, "long"),
        (
            record(field("next", ["null", "Event"]), field("a", "int", default=1)),
            record(field("next", ["null", "Event"])),
        ),
    ],
)
def test_what_avro_reads_is_compatible(reader: Any, writer: Any) -> None:
    assert found(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "reason"),
    [
        ("int", "long", ("TYPE_MISMATCH", "", "")),
        ("int", array("int"), ("TYPE_MISMATCH", "", "")),
        (record(field("a", "int")), record(field("a", "string")), ("TYPE_MISMATCH", "/fields/0/type", "a")),
        (
            record(field("a", array(record(field("b", "int"), name="Item")))),
            record(field("a", array(record(field("b", "string"), name="Item")))),
            ("TYPE_MISMATCH", "/fields/0/type/items/fields/0/type", "a[].b"),
        ),
        (
            record(field("a", {"type": "map", "values": "int"})),
            record(field("a", {"type": "map", "values": "string"})),
            ("TYPE_MISMATCH", "/fields/0/type/values", "a{}"),
        ),
        (
            record(field("a", "int"), field("b", "int")),
            record(field("a", "int")),
            ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1", "b"),
        ),
        (record(name="New"), record(name="Event"), ("NAME_MISMATCH", "/name", "")),
        (enum("A"), enum("A", "B"), ("MISSING_ENUM_SYMBOLS", "/symbols", "")),
        (fixed(4), fixed(8), ("FIXED_SIZE_MISMATCH", "/size", "")),
        (fixed(4), enum("A"), ("TYPE_MISMATCH", "", "")),
        (["null", "int"], "string", ("MISSING_UNION_BRANCH", "", "")),
        (["null", "int"], ["null", "string"], ("MISSING_UNION_BRANCH", "", "")),
        ("string", ["null", "string"], ("TYPE_MISMATCH", "", "")),
        (
            ["null", record(field("a", "int"))],
            ["null", record()],
            ("READER_FIELD_MISSING_DEFAULT_VALUE", "/1/fields/0", "a"),
        ),
        (
            record(field("next", ["null", "Event"]), field("a", "int")),
            record(field("next", ["null", "Event"])),
            ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1", "a"),
        ),
    ],
)
def test_what_avro_does_not_read_is_told_by_its_kind_and_place(reader: Any, writer: Any, reason: Any) -> None:
    assert found(reader, writer) == [reason]


OLD = record(field("a", "int"), field("b", "string"))
ADDS_OPTIONAL = record(field("a", "int"), field("b", "string"), field("c", "int", default=0))
ADDS_REQUIRED = record(field("a", "int"), field("b", "string"), field("c", "int"))
DROPS_REQUIRED = record(field("a", "int"))
WIDENS = record(field("a", "long"), field("b", "string"))


@pytest.mark.parametrize(
    ("level", "allowed"),
    [
        ("NONE", [ADDS_OPTIONAL, ADDS_REQUIRED, DROPS_REQUIRED, WIDENS]),
        ("BACKWARD", [ADDS_OPTIONAL, DROPS_REQUIRED, WIDENS]),
        ("FORWARD", [ADDS_OPTIONAL, ADDS_REQUIRED]),
        ("FULL", [ADDS_OPTIONAL]),
    ],
)
def test_each_level_allows_its_changes(level: str, allowed: list[Any]) -> None:
    for rule in (Compatibility(level), Compatibility(level if level == "NONE" else f"{level}_TRANSITIVE")):
        for change in (ADDS_OPTIONAL, ADDS_REQUIRED, DROPS_REQUIRED, WIDENS):
            reasons = reasons_against(schema(change), [RegisteredSchema("s", 1, 1, schema(OLD))], rule)
            assert (reasons == []) == (change in allowed)


def test_only_the_transitive_levels_look_behind_the_newest_version() -> None:
    versions = [
        RegisteredSchema("s", number, number, schema(record(*fields)))
        for number, fields in ((1, []), (2, [field("a", "int", default=1)]))
    ]
    new = schema(record(field("a", "int")))
    assert reasons_against(new, versions, Compatibility.BACKWARD) == []
    (reason,) = reasons_against(new, versions, Compatibility.BACKWARD_TRANSITIVE)
    assert (reason.version, reason.new_reads_old) == (1, True)
    assert reason.direction == "the new schema must read what version 1 wrote"
    assert reason.suggestion == "give the new field a default"


def test_every_kind_of_reason_has_a_suggestion_in_both_directions() -> None:
    (against,) = reasons_against(schema("int"), [RegisteredSchema("s", 1, 1, schema("long"))], Compatibility.BACKWARD)
    for kind in Kind:
        for new_reads_old in (True, False):
            misreading = replace(against.misreading, kind=kind)
            assert replace(against, misreading=misreading, new_reads_old=new_reads_old).suggestion


def read_as(reader: Any, writer: Any, value: Any) -> Any:
    registry = MemoryRegistry()
    message = AvroCodec(registry).encoder("subject", schema(writer))(value)
    return AvroCodec(registry, reader=schema(reader)).decode(message)


def test_old_readers_read_new_records_and_the_other_way_round() -> None:
    assert read_as(OLD, ADDS_OPTIONAL, {"a": 1, "b": "x", "c": 2}) == {"a": 1, "b": "x"}
    assert read_as(ADDS_OPTIONAL, OLD, {"a": 1, "b": "x"}) == {"a": 1, "b": "x", "c": 0}


def test_a_reader_that_cannot_read_a_record_says_so() -> None:
    with pytest.raises(RecordUndecodable, match="wanted schema: c: the written schema lacks the field"):
        read_as(ADDS_REQUIRED, OLD, {"a": 1, "b": "x"})


def test_a_default_belongs_to_one_record_only() -> None:
    registry, new = MemoryRegistry(), record(field("tags", array("string"), default=["new"]))
    message = AvroCodec(registry).encoder("subject", schema(record()))({})
    codec = AvroCodec(registry, reader=schema(new))
    first: Any = codec.decode(message)
    first["tags"].append("mine")
    assert codec.decode(message) == {"tags": ["new"]}


def test_a_union_gives_the_same_type_that_was_written() -> None:
    reader = record(field("n", ["null", "double", "long", "string"]))
    read = read_as(reader, record(field("n", ["null", "long"])), {"n": 2**53 + 1})
    assert read == {"n": 2**53 + 1}
    assert type(read["n"]) is int


def test_a_union_of_text_and_bytes_gives_what_was_written() -> None:
    both = field("x", ["null", "string", "bytes"])
    assert read_as(record(both, field("n", "int", default=1)), record(both), {"x": b"a"}) == {"x": b"a", "n": 1}
    assert read_as(record(both), record(field("x", ["null", "bytes"])), {"x": b"a"}) == {"x": b"a"}
    assert read_as(record(both), record(field("x", "string")), {"x": "a"}) == {"x": "a"}


def logical(base: Any, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


MOMENT = dt.datetime(2026, 7, 30, 12, 0, 0, 123_456, dt.UTC)
WHOLE = MOMENT.replace(microsecond=123_000)
MICROS = round(MOMENT.timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("reader", "writer", "value", "read"),
    [
        (logical("int", "date"), "int", 1, dt.date(1970, 1, 2)),
        ("int", logical("int", "date"), dt.date(1970, 1, 2), 1),
        ("double", logical("int", "date"), dt.date(1970, 1, 2), 1.0),
        (logical("long", "timestamp-micros"), "long", MICROS, MOMENT),
        ("long", logical("long", "timestamp-micros"), MOMENT, MICROS),
        (
            logical("long", "timestamp-millis"),
            logical("long", "timestamp-micros"),
            MOMENT,
            MOMENT.replace(microsecond=123_000),
        ),
        (logical("string", "uuid"), "string", str(UUID(int=7)), UUID(int=7)),
        ("string", logical("string", "uuid"), UUID(int=7), str(UUID(int=7))),
        (["null", logical("int", "date")], ["null", "int"], 1, dt.date(1970, 1, 2)),
        (logical("bytes", "decimal", precision=4, scale=2), "bytes", b"\x01", Decimal("0.01")),
        ("bytes", logical("bytes", "decimal", precision=4, scale=2), Decimal("0.01"), b"\x01"),
        (
            logical("bytes", "decimal", precision=6, scale=3),
            logical("bytes", "decimal", precision=4, scale=2),
            Decimal("12.50"),
            Decimal("12.500"),
        ),
    ],
)
def test_a_reader_gets_values_of_its_own_logical_types(reader: Any, writer: Any, value: Any, read: Any) -> None:
    for wrap in (lambda node: node, lambda node: record(field("x", array(node)))):
        given = value if wrap(writer) == writer else {"x": [value]}
        found = read_as(wrap(reader), wrap(writer), given)
        found = found if wrap(writer) == writer else found["x"][0]
        assert found == read
        assert (type(found), str(found)) == (type(read), str(read))


def test_a_decimal_that_the_readers_type_cannot_hold_is_refused() -> None:
    small, large = (logical("bytes", "decimal", precision=digits, scale=2) for digits in (3, 9))
    for reader, value in ((small, "123456.78"), (logical("bytes", "decimal", precision=9, scale=1), "1.25")):
        with pytest.raises(RecordUndecodable, match="digits"):
            read_as(record(field("d", reader)), record(field("d", large)), {"d": Decimal(value)})


@given(st.data())
def test_a_schema_that_is_called_compatible_reads_every_record_of_the_other(data: st.DataObject) -> None:
    writer = data.draw(record_schemas())
    reader = data.draw(evolved(writer))
    assume(not misreadings(reader.type, writer.type))
    registry = MemoryRegistry()
    value = data.draw(values(writer))
    try:
        message = AvroCodec(registry).encoder("subject", writer)(value)
    except RecordInvalid as refused:
        assume("to mean" not in refused.hint)
        raise
    read = AvroCodec(registry, reader=reader).decode(message)
    assert isinstance(read, dict)
    old, new = ({item["name"]: item["type"] for item in json.loads(it.text)["fields"]} for it in (writer, reader))
    assert set(read) == set(new)
    kept = [name for name in new if new[name] == old.get(name) and writer.name not in json.dumps(new[name])]
    assert all(same(read[name], value[name]) for name in kept)
