"""No schema may take more than moments, whoever wrote it: to parse, to compare, to read with, to fetch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import RecordUndecodable, SchemaError, SchemaSyntaxError
from penstock.schemas import AvroCodec, MemoryRegistry, Reference, Schema
from penstock.schemas.avro.misreading import misreadings
from penstock.schemas.avro.model import Field, Primitive, RecordType
from penstock.schemas.avro.sizes import require_columns
from tests.bounded import within

SECONDS = 2


def doubling(levels: int, leaf: Any = "null", *, default: bool = False, nullable: bool = False) -> str:
    """Records of two fields of the same type, the record before: 2^levels leaves in a few hundred bytes."""
    fields: list[Any] = [{"name": "r0", "type": {"type": "record", "name": "R0", "fields": _twice(leaf, 0, default)}}]
    for level in range(1, levels + 1):
        below: Any = ["null", f"R{level - 1}"] if nullable else f"R{level - 1}"
        record = {"type": "record", "name": f"R{level}", "fields": _twice(below, {}, default)}
        fields.append({"name": f"r{level}", "type": record})
    return json.dumps({"type": "record", "name": "Top", "fields": fields})


def _twice(node: Any, default: object, has_default: bool) -> list[Any]:
    return [{"name": name, "type": node, **({"default": default} if has_default else {})} for name in "ab"]


def refusal(text: str) -> str:
    with pytest.raises(SchemaSyntaxError) as caught:
        Schema.from_text(text)
    return caught.value.message


def test_defaults_that_nest_records_are_refused_before_they_are_written_out() -> None:
    message = within(SECONDS, refusal, doubling(30, "int", default=True))
    assert "default" in message
    within(SECONDS, lambda: Schema.from_registry(doubling(30, "int", default=True)).fingerprint)


def test_a_default_that_fits_no_branch_of_nested_unions_is_refused_at_once() -> None:
    node: Any = "int"
    for level in range(30):
        twins = [{"type": "record", "name": f"{side}{level}", "fields": []} for side in "AB"]
        twins[0]["fields"] = [{"name": "x", "type": node}]
        twins[1]["fields"] = [{"name": "x", "type": f"A{level - 1}" if level else "int"}]
        node = twins
    value: Any = "no"
    for _ in range(30):
        value = {"x": value}
    text = json.dumps({"type": "record", "name": "E", "fields": [{"name": "x", "type": node, "default": value}]})
    assert "default" in within(SECONDS, refusal, text)


def test_records_that_hold_thousands_of_values_without_bytes_are_refused() -> None:
    assert "without" in within(SECONDS, refusal, doubling(40))
    assert "without" in within(SECONDS, refusal, doubling(17))


@pytest.mark.parametrize("nullable", [True, False])
def test_names_that_are_used_again_and_again_cost_no_more_than_once(nullable: bool) -> None:
    def use() -> None:
        old, new = (Schema.from_text(doubling(60, leaf, nullable=nullable)) for leaf in ("int", "string"))
        assert old.fingerprint != new.fingerprint
        assert len(misreadings(new.type, old.type)) == 2
        assert len(repr(old.type)) < 1_000
        codec = AvroCodec(MemoryRegistry())
        codec.encoder("s", old)
        with pytest.raises(RecordUndecodable):
            codec.decode(bytes(4) + b"\1" + b"\2" * 100)

    within(SECONDS, use)


def test_an_array_of_values_without_bytes_is_limited_by_its_values() -> None:
    items = {"type": "record", "name": "N", "fields": [{"name": f"f{number}", "type": "null"} for number in range(900)]}
    codec = AvroCodec(MemoryRegistry())

    def decode() -> None:
        codec.encoder("s", Schema.from_text(json.dumps({"type": "array", "items": items})))
        with pytest.raises(RecordUndecodable, match="no bytes"):
            codec.decode(bytes(4) + b"\1" + b"\xa0\x8d\x06\0")

    within(SECONDS, decode)


@pytest.mark.parametrize("kind", ["array", "map"])
@pytest.mark.parametrize("nulls", [30, 900])
def test_items_of_few_bytes_are_limited_by_their_values(kind: str, nulls: int) -> None:
    fields = [{"name": f"f{number}", "type": "null"} for number in range(nulls)]
    item = {"type": "record", "name": "N", "fields": [*fields, {"name": "x", "type": "boolean"}]}
    codec = AvroCodec(MemoryRegistry())
    codec.encoder("s", Schema.from_text(json.dumps({"type": kind, "items": item, "values": item})))
    entry = b"\0\1" if kind == "map" else b"\1"

    def message(count: int) -> bytes:
        block = b"\x80\1" + entry * 64
        return bytes(4) + b"\1" + block * (count // 64) + b"\0"

    def decode() -> None:
        codec.decode(message(64))
        with pytest.raises(RecordUndecodable, match="too many values"):
            codec.decode(message(128_000))

    within(SECONDS, decode)


def test_wide_schemas_take_linear_time() -> None:
    fields = [{"name": f"f{number}", "type": "int", "default": "wrong"} for number in range(20_000)]
    enum = {"type": "enum", "name": "S", "symbols": [f"S{number}" for number in range(50_000)]}
    text = json.dumps({"type": "record", "name": "E", "fields": [*fields, {"name": "s", "type": enum}]})
    schema = within(4, Schema.from_registry, text)
    within(4, misreadings, schema.type, Schema.from_registry(text).type)
    unknown = [{"name": f"f{number}", "type": f"Unknown{number}"} for number in range(20_000)]
    assert within(SECONDS, refusal, json.dumps({"type": "record", "name": "E", "fields": unknown}))


def test_schemas_that_refer_to_one_another_are_compared_and_hashed_once_each() -> None:
    def build() -> int:
        schema = Schema.from_text('{"type": "record", "name": "R0", "fields": []}')
        for level in range(1, 40):
            below = f"R{level - 1}"
            fields = [{"name": "a", "type": below}]
            text = json.dumps({"type": "record", "name": f"R{level}", "fields": fields})
            schema = Schema.from_text(text, [Reference(below, side, 1, schema) for side in "ab"])
        return hash(schema)

    assert within(SECONDS, build)


def test_a_record_that_holds_itself_without_end_is_no_trap() -> None:
    endless = {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}

    def use() -> None:
        codec = AvroCodec(MemoryRegistry())
        try:
            codec.encoder("s", Schema.from_text(json.dumps({"type": "array", "items": endless})))
        except SchemaError:
            return
        with pytest.raises(RecordUndecodable):
            codec.decode(bytes(4) + b"\1" + b"\2\0")

    within(SECONDS, use)


def test_a_schema_that_stands_for_millions_of_columns_is_no_table() -> None:
    root = Schema.from_text(doubling(40, "int", nullable=True)).type
    assert isinstance(root, RecordType)

    def require() -> None:
        with pytest.raises(SchemaError, match="more than 50,000 fields"):
            require_columns(root)

    within(SECONDS, require)
    require_columns(RecordType("Small", (), [Field("x", Primitive("int"))]))


def test_a_number_of_thousands_of_digits_is_a_syntax_error() -> None:
    text = '{"type":"fixed","name":"F","size":' + "1" * 5000 + "}"
    assert "too many digits" in refusal(text)


@pytest.mark.parametrize(
    "names",
    [
        {"name": "R", "namespace": "\ud800"},
        {"name": "R", "namespace": "a.\udfff.b"},
        {"name": "\ud800.R"},
        {"name": "a.R\ud800"},
    ],
)
@pytest.mark.parametrize("kind", [{"type": "record", "fields": []}, {"type": "record"}, {"type": "fixed", "size": 1}])
def test_a_name_that_no_text_can_store_is_a_syntax_error(names: dict[str, str], kind: dict[str, Any]) -> None:
    assert refusal(json.dumps({**kind, **names})).encode()


def test_namespaces_that_other_libraries_accept_stay_accepted() -> None:
    text = json.dumps({"type": "record", "name": "R", "namespace": "my-company.1.é", "fields": []})
    assert Schema.from_text(text).fingerprint
