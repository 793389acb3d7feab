from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import SchemaSyntaxError, UsageError
from penstock.schemas import AvroCodec, MemoryRegistry, Reference, Schema, SubjectNaming, subject_name


def record(*fields: Any, **more: Any) -> str:
    return json.dumps({"type": "record", "name": "Event", "fields": list(fields), **more})


def refusal(text: str) -> str:
    with pytest.raises(SchemaSyntaxError) as caught:
        Schema.from_text(text)
    return caught.value.message


def test_a_file_that_is_not_json_is_told_by_line_and_column_with_the_line_shown(tmp_path: Path) -> None:
    file = tmp_path / "event.avsc"
    file.write_text('{\n  "type": "record"\n  "name": "Event"\n}')
    with pytest.raises(SchemaSyntaxError) as caught:
        Schema.from_file(file)
    assert caught.value.message.splitlines() == [
        f"{file}, line 3, column 3: Expecting ',' delimiter",
        '    "name": "Event"',
        "    ^",
    ]
    assert (caught.value.details["line"], caught.value.details["column"]) == (3, 3)


def test_the_mark_stands_below_the_mistake_in_a_long_line() -> None:
    _place, line, mark = refusal('{"doc": "' + "x" * 500 + '" "name": 1}').splitlines()
    assert line[mark.index("^")] == '"'
    assert len(line) < 120


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "binary.avsc").write_bytes(b"\xff\xfe")
    for name in ("nothing.avsc", "binary.avsc"):
        with pytest.raises(SchemaSyntaxError, match=f"{name} cannot be read"):
            Schema.from_file(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the schema is empty"),
        ("17", "the schema: 17 is not a type"),
        ("{}", "the schema: {} has no type"),
        ('"strng"', "the schema: 'strng' is not a type; did you mean string?"),
        (
            record({"name": "a", "type": "int"}, {"name": "b", "type": "int"}, {"name": "c", "type": "strng"}),
            "fields[2].type: 'strng' is not a type; did you mean string?",
        ),
        (
            record({"name": "a", "type": {"type": "aray", "items": "int"}}),
            "fields[0].type.type: 'aray' is not a type; did",
        ),
        (record({"name": "a", "type": {"type": "array"}}), "fields[0].type: the array has no items"),
        (record({"name": "my field", "type": "int"}), "fields[0].name: 'my field' is not a field name"),
        (
            record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}),
            "fields[1].name: the field a stands twice",
        ),
        (record({"type": "int"}), "fields[0]: {'type': 'int'} is not a field: a field has a name and a type"),
        (record({"name": "a", "type": "Other"}), "fields[0].type: 'Other' is not a type"),
        (
            record({"name": "a", "type": ["null", ["int"]]}),
            "fields[0].type[1]: a union cannot stand directly in a union",
        ),
        (record({"name": "a", "type": ["int", "int"]}), "fields[0].type[1]: int stands twice in the union"),
        (record({"name": "a", "type": "int", "default": "x"}), "fields[0].default: 'x' is not of type int"),
        (
            record({"name": "a", "type": ["null", "int"], "default": "x"}),
            "fields[0].default: 'x' is not of type null or int",
        ),
        (record({"name": "a", "type": "bytes", "default": "\u20ac"}), "characters above U+00FF"),
        (record({"name": "a", "type": "Event", "default": {}}), "fields[0].default: the default holds itself"),
        ('{"type": "record", "name": "R"}', "the schema: the record R has no list of fields"),
        ('{"type": "record", "fields": []}', "the schema: the record has no name"),
        ('{"type": "record", "name": "1st", "fields": []}', "name: '1st' is not a name for a type"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', "symbols[1]: the symbol A stands twice"),
        ('{"type": "enum", "name": "E", "symbols": ["A-B"]}', "such as A_B"),
        ('{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}', "default: 'B' is not one of the enum's"),
        ('{"type": "fixed", "name": "F", "size": "4"}', "size: '4' is not a number of bytes"),
        (json.dumps([{"type": "fixed", "name": "F", "size": 1}] * 2), "[1].name: the type F is defined twice"),
        ('{"type": "array", "items": ' * 200 + '"int"' + "}" * 200, "nested deeper than 100 levels"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_mistake_in_a_schema_is_told_by_its_place(text: str, message: str) -> None:
    assert message in refusal(text)


def test_all_mistakes_are_told_at_once() -> None:
    text = record({"name": "a", "type": "strng"}, {"name": "b c", "type": ["nul", "lon"]})
    assert len(refusal(text).splitlines()) == 4


def test_a_registered_schema_with_a_wrong_default_can_still_be_read() -> None:
    text = record({"name": "a", "type": "int", "default": "none"})
    assert AvroCodec(MemoryRegistry()).encoder("subject", Schema.from_registry(text))({"a": 1}).endswith(b"\x02")


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "string"}',
        '{"type": {"type": "string"}}',
        '{"type": "string", "logicalType": "unheard-of"}',
        '{"type": "bytes", "logicalType": "decimal"}',
        '{"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}',
        '{"type": "error", "name": "Failure", "fields": []}',
        '{"type": "record", "name": "R", "namespace": "my-company.events", "fields": [], "doc": 5}',
        '["null", "string"]',
    ],
)
def test_what_other_programs_write_is_accepted(text: str) -> None:
    assert Schema.from_text(text).fingerprint


def test_the_fingerprint_is_of_the_parsing_canonical_form() -> None:
    plain = Schema.from_text('"int"')
    assert plain.fingerprint == "ef524ea1b91e73173d938ade36c1db32"
    loose = '{"type":"record","doc":"!","namespace":"x","name":"R","fields":[{"type":{"type":"int"},"name":"a"}]}'
    tight = '{"name": "x.R", "type": "record", "fields": [{"name": "a", "type": "int"}]}'
    assert Schema.from_text(loose).fingerprint == Schema.from_text(tight).fingerprint


def test_named_types_come_from_other_schemas_by_reference() -> None:
    country = Schema.from_text('{"type": "enum", "name": "geo.Country", "symbols": ["DE", "FR"]}')
    address = Schema.from_text(
        '{"type": "record", "name": "geo.Address", "fields": [{"name": "country", "type": "Country"}]}',
        [Reference("geo.Country", "country", 1, country)],
    )
    order = Schema.from_text(
        '{"type": "record", "name": "Order", "fields": ['
        '{"name": "from", "type": "geo.Address"}, {"name": "to", "type": ["null", "geo.Address"]}]}',
        [Reference("geo.Address", "address", 1, address)],
    )
    value = {"from": {"country": "DE"}, "to": {"country": "FR"}}
    codec = AvroCodec(MemoryRegistry())
    assert codec.decode(codec.encoder("subject", order)(value)) == value
    inlined = json.dumps(order.parsed, default=str)
    assert order.fingerprint == Schema.from_text(json.dumps(json.loads(inlined))).fingerprint


def test_subjects_are_named_by_topic_record_or_both() -> None:
    schema = Schema.from_text(record(namespace="shop"))
    assert subject_name("orders", schema) == "orders-value"
    assert subject_name("orders", schema, part="key") == "orders-key"
    assert subject_name("orders", schema, naming=SubjectNaming.RECORD) == "shop.Event"
    assert subject_name("orders", schema, naming="topic-record") == "orders-shop.Event"


def test_a_type_without_a_name_names_no_subject() -> None:
    with pytest.raises(UsageError, match="has a name"):
        subject_name("orders", Schema.from_text('"string"'), naming="record")
    with pytest.raises(UsageError, match="'records' is not a way to name subjects"):
        subject_name("orders", Schema.from_text('"string"'), naming="records")
