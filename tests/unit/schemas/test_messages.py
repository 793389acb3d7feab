from __future__ import annotations

import json
import re
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import (
    RecordInvalid,
    RecordUndecodable,
    RegistryRefused,
    RegistryUnavailable,
    SchemaNotFound,
    UsageError,
)
from penstock.schemas import AvroCodec, IdWidth, MemoryRegistry, RegisteredSchema, Schema, claims_schema
from penstock.schemas.wire import SchemaId, header

TEXT = Schema.from_text('{"type": "record", "name": "Text", "fields": [{"name": "text", "type": "string"}]}')
NODE = Schema.from_text('{"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}')
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"


def codec_with(*schemas: Schema) -> AvroCodec:
    """A codec whose registry has these schemas under the ids 1, 2, ..."""
    registry = MemoryRegistry()
    for schema in schemas:
        registry.register("subject", schema)
    return AvroCodec(registry)


def array_of(items: Any) -> Schema:
    return Schema.from_text(json.dumps({"type": "array", "items": items}))


def refusal(schema: Schema, body: bytes) -> str:
    with pytest.raises(RecordUndecodable) as caught:
        codec_with(schema).decode(header(1, IdWidth.INT) + body)
    return caught.value.message


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Refuse to the process more than half a gigabyte on top of what it has."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


def test_ids_of_all_widths_are_read_side_by_side() -> None:
    registry = MemoryRegistry()
    messages = [
        AvroCodec(registry, width=width).encoder("subject", TEXT)({"text": width.value})
        for width in (*IdWidth, *reversed(IdWidth))
    ]
    codec = AvroCodec(registry)
    decoded = [codec.decode(message) for message in messages]
    assert decoded == [{"text": width.value} for width in (*IdWidth, *reversed(IdWidth))]


def test_the_widths_are_written_as_other_programs_write_them() -> None:
    registry = MemoryRegistry()
    written = {w: AvroCodec(registry, width=w).encoder("subject", TEXT)({"text": "é"}) for w in IdWidth}
    body = b"\x04\xc3\xa9"
    assert written[IdWidth.INT] == b"\0\0\0\0\1" + body
    assert written[IdWidth.LONG] == b"\0\0\0\0\0\0\0\0\1" + body
    assert written[IdWidth.UUID] == b"\0" + bytes.fromhex(TEXT.fingerprint) + body


def test_a_fingerprint_that_begins_like_a_known_number_is_still_found() -> None:
    class Registry(MemoryRegistry):
        def by_id(self, schema_id: int | str) -> Schema:
            begins_alike = int(TEXT.fingerprint[:8], 16)
            return NODE if schema_id == begins_alike else super().by_id(schema_id)

    registry = Registry()
    message = AvroCodec(registry, width=IdWidth.UUID).encoder("subject", TEXT)({"text": "a longer text"})
    codec = AvroCodec(registry)
    assert [codec.decode(message), codec.decode(message)] == [{"text": "a longer text"}] * 2


@pytest.mark.parametrize("width", [IdWidth.LONG, IdWidth.UUID])
def test_after_wide_ids_the_schema_bytes_is_written_without_a_length(width: IdWidth) -> None:
    codec = AvroCodec(MemoryRegistry(), width=width)
    encode = codec.encoder("subject", Schema.from_text('"bytes"'))
    assert encode(b"raw")[width.body :] == b"raw"
    assert codec.decode(encode(b"raw")) == b"raw"
    with pytest.raises(RecordInvalid, match="'text' is not bytes"):
        encode("text")


def test_after_a_short_id_the_schema_bytes_is_avro() -> None:
    codec = AvroCodec(MemoryRegistry())
    assert codec.encoder("subject", Schema.from_text('"bytes"'))(b"raw") == b"\0\0\0\0\1\x06raw"


def test_an_id_that_the_registry_does_not_know_is_told_for_every_width_it_may_have() -> None:
    with pytest.raises(SchemaNotFound, match=r"schema id 7 \(4 bytes\) nor schema id 00000007[0-9a-f]{24}") as caught:
        AvroCodec(MemoryRegistry()).decode(header(7, IdWidth.INT) + bytes(20))
    assert caught.value.details["schema_ids"][0] == 7
    with pytest.raises(SchemaNotFound, match=r"schema id 7 \(8 bytes\)"):
        AvroCodec(MemoryRegistry()).decode(header(7, IdWidth.LONG))


def test_an_unknown_id_is_not_asked_for_again_at_once() -> None:
    class Registry(MemoryRegistry):
        asked = 0

        def by_id(self, schema_id: int | str) -> Schema:
            self.asked += 1
            return super().by_id(schema_id)

    registry = Registry()
    codec = AvroCodec(registry)
    for _ in range(3):
        with pytest.raises(SchemaNotFound):
            codec.decode(header(7, IdWidth.INT))
    assert registry.asked == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the message is empty"),
        (b'{"a": 1}', "begins with byte 0x7b"),
        (b"\0\0\0", "too short to carry a schema id"),
    ],
)
def test_data_without_a_schema_is_told_as_such(data: bytes, why: str) -> None:
    assert not claims_schema(data)
    with pytest.raises(RecordUndecodable, match=why):
        AvroCodec(MemoryRegistry()).decode(data)


@pytest.mark.parametrize(
    ("schema", "body", "message"),
    [
        (TEXT, b"", "text at byte 5: the message ends"),
        (TEXT, b"\x06ab", "text at byte 6: the message ends: 3 bytes expected, 2 bytes left"),
        (TEXT, b"\x04abc", "the record at byte 8: 1 bytes follow the end of the record"),
        (TEXT, b"\x01", "text at byte 5: the length -1 is negative"),
        (TEXT, b"\x04\xff\xfe", "text at byte 5: the text is not UTF-8"),
        (TEXT, b"\xff" * 11, "takes more than 10 bytes"),
        (TEXT, HUGE, "the message ends"),
        (NODE, b"\x04", "next at byte 5: 2 is not one of its 2 branches"),
        (
            Schema.from_text('{"type": "enum", "name": "E", "symbols": ["A"]}'),
            b"\x02",
            "1 is not one of its 1 symbols",
        ),
        (Schema.from_text('"double"'), b"\0" * 7, "the message ends: a double expected, 7 bytes left"),
        (Schema.from_text('{"type": "fixed", "name": "F", "size": 4}'), b"abc", "4 bytes expected, 3 bytes left"),
        (Schema.from_text('{"type": "int", "logicalType": "date"}'), HUGE, "is out of range for a date"),
        (Schema.from_text('{"type": "string", "logicalType": "uuid"}'), b"\x04no", "'no' is not a UUID"),
        (array_of("string"), b"\x04\x02a\x06bc", r"[1] at byte 9: the message ends"),
    ],
)
def test_a_damaged_message_is_told_by_what_is_wrong_and_where(schema: Schema, body: bytes, message: str) -> None:
    assert message in refusal(schema, body)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "items",
    [
        "null",
        "string",
        {"type": "fixed", "name": "Nothing", "size": 0},
        {"type": "fixed", "name": "Some", "size": 16},
        {"type": "record", "name": "Empty", "fields": []},
        {"type": "record", "name": "Nulls", "fields": [{"name": "a", "type": "null"}, {"name": "b", "type": "null"}]},
        {"type": "array", "items": "null"},
        {"type": "map", "values": "null"},
    ],
)
def test_a_few_bytes_cannot_ask_for_all_memory(items: Any) -> None:
    assert re.search("items take no bytes|message ends", refusal(array_of(items), HUGE + b"\0"))


@pytest.mark.parametrize("levels", [201, 5_000, 1_000_000])
def test_a_message_nested_without_end_does_not_end_the_process(levels: int) -> None:
    assert "nested deeper than 200 levels" in refusal(NODE, b"\x02" * levels + b"\0")


def test_a_recursive_record_of_usual_depth_is_read() -> None:
    codec = codec_with(NODE)
    assert codec.decode(header(1, IdWidth.INT) + b"\x02\x02\0") == {"next": {"next": {"next": None}}}


def test_a_width_that_the_id_does_not_fit_is_refused() -> None:
    for schema_id, width in ((2**31, IdWidth.INT), ("ab" * 16, IdWidth.LONG), ("no", IdWidth.UUID), (5, IdWidth.UUID)):
        with pytest.raises(UsageError, match="does not fit the width"):
            header(schema_id, width)


def test_fingerprints_are_written_only_if_the_registry_can_give_the_schema_back() -> None:
    class Registry(MemoryRegistry):
        def by_id(self, schema_id: int | str) -> Schema:
            if isinstance(schema_id, str):
                raise SchemaNotFound("not served")
            return super().by_id(schema_id)

    with pytest.raises(RegistryRefused, match="by its fingerprint"):
        AvroCodec(Registry(), width=IdWidth.UUID).encoder("subject", TEXT)


def test_a_schema_may_be_looked_up_instead_of_registered() -> None:
    registry = MemoryRegistry()
    with pytest.raises(SchemaNotFound):
        AvroCodec(registry).encoder("subject", TEXT, register=False)
    registered: RegisteredSchema = registry.register("subject", TEXT)
    message = AvroCodec(registry).encoder("subject", TEXT, register=False)({"text": "x"})
    assert message[:5] == header(registered.schema_id, IdWidth.INT)


def test_a_damaged_message_of_a_known_schema_is_told_though_the_registry_is_away() -> None:
    class AwayAfterwards(MemoryRegistry):
        def by_id(self, schema_id: SchemaId) -> Schema:
            if isinstance(schema_id, str):
                raise RegistryUnavailable("away")
            return super().by_id(schema_id)

    codec = AvroCodec(AwayAfterwards())
    whole = codec.encoder("s", TEXT)({"text": "long enough for sixteen bytes"})
    with pytest.raises(RecordUndecodable):
        codec.decode(whole[:-1])
