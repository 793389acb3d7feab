from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.errors import SchemaError
from penstock.schemas import AvroCodec, IdWidth, MemoryRegistry, Schema
from penstock.schemas.wire import header
from penstock.spark.avro.rows import AvroRows
from penstock.spark.decoding import PROBLEM
from penstock.spark.failures import UnknownSchemas, spark_failures
from penstock.spark.learnt import ASK_AGAIN_SECONDS

FIRST = Schema.from_text("""{"type": "record", "name": "Count", "fields": [
  {"name": "count", "type": "int"}]}""")
SECOND = Schema.from_text("""{"type": "record", "name": "Count", "fields": [
  {"name": "count", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": null}]}""")
NULLS = Schema.from_text("""{"type": "record", "name": "Nulls", "fields": [
  {"name": "a", "type": ["null", "string"]}, {"name": "b", "type": ["null", "int"]}]}""")


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


def encoded(registry: MemoryRegistry, schema: Schema, record: object, width: IdWidth = IdWidth.INT) -> bytes:
    return AvroCodec(registry, width=width).encoder("count-value", schema)(record)


def decode(spark: SparkSession, decoder: AvroRows, values: list[bytes | None]) -> list[tuple[Any, Any]]:
    """Each message's row and problem, learning schemas as a batch does."""
    messages = spark.createDataFrame([(value,) for value in values], "value binary")
    try:
        return _decode(decoder, messages)
    except UnknownSchemas:
        decoder.learn(messages)
    return _decode(decoder, messages)


def _decode(decoder: AvroRows, messages: Any) -> list[tuple[Any, Any]]:
    with spark_failures("decoding"):
        found = decoder.decode(messages).select(F.struct(*decoder.fields()).alias("row"), PROBLEM).collect()
    return [(each.row.asDict(recursive=True), tuple(each[PROBLEM]) if each[PROBLEM] else None) for each in found]


@pytest.mark.parametrize("width", list(IdWidth))
def test_messages_are_read_by_ids_of_every_width(spark: SparkSession, registry: MemoryRegistry, width: IdWidth) -> None:
    message = encoded(registry, FIRST, {"count": 5}, width)
    decoder = AvroRows(spark, registry, subjects=["count-value"])
    assert decode(spark, decoder, [message]) == [({"count": 5}, None)]


def test_several_versions_in_one_topic_come_out_as_the_newest(spark: SparkSession, registry: MemoryRegistry) -> None:
    messages = [
        encoded(registry, FIRST, {"count": 1}),
        encoded(registry, SECOND, {"count": 2, "note": "two"}, IdWidth.LONG),
        encoded(registry, FIRST, {"count": 3}, IdWidth.UUID),
    ]
    rows = decode(spark, AvroRows(spark, registry, subjects=["count-value"]), messages)
    assert rows == [
        ({"count": 1, "note": None}, None),
        ({"count": 2, "note": "two"}, None),
        ({"count": 3, "note": None}, None),
    ]


def test_a_named_reader_gives_rows_its_form(spark: SparkSession, registry: MemoryRegistry) -> None:
    messages = [encoded(registry, SECOND, {"count": 2, "note": "two"})]
    reader = Schema.from_text("""{"type": "record", "name": "Count", "fields": [
      {"name": "note", "type": ["null", "string"]}, {"name": "by", "type": "string", "default": "nobody"}]}""")
    decoder = AvroRows(spark, registry, reader=reader)
    assert decoder.schema.names == ["note", "by"]
    assert decode(spark, decoder, messages) == [({"note": "two", "by": "nobody"}, None)]


def test_a_schema_registered_while_running_gives_rows_its_form(spark: SparkSession, registry: MemoryRegistry) -> None:
    first = encoded(registry, FIRST, {"count": 1})
    decoder = AvroRows(spark, registry, subjects=["count-value"])
    assert decode(spark, decoder, [first]) == [({"count": 1}, None)]
    second = encoded(registry, SECOND, {"count": 2, "note": "two"})
    rows = decode(spark, decoder, [first, second])
    assert rows == [({"count": 1, "note": None}, None), ({"count": 2, "note": "two"}, None)]


def test_a_record_of_nulls_is_told_apart_from_a_damaged_one(spark: SparkSession, registry: MemoryRegistry) -> None:
    whole = encoded(registry, NULLS, {"a": None, "b": None})
    longer = encoded(registry, NULLS, {"a": "text", "b": 300})
    values = [whole, whole[:-1], whole + b"\x00", longer, *(longer[:end] for end in range(5, len(longer)))]
    found = decode(spark, AvroRows(spark, registry, subjects=["count-value"]), list(values))
    assert [row for row, problem in found if problem is None] == [{"a": None, "b": None}, {"a": "text", "b": 300}]
    assert {problem[0] for _, problem in found if problem} == {"record.undecodable"}


def test_what_is_no_avro_message_is_refused_with_the_reason(spark: SparkSession, registry: MemoryRegistry) -> None:
    registry.register("count-value", FIRST)
    values: list[bytes | None] = [None, b"", b"\x00\x00", b'{"count": 5}', header(77, IdWidth.INT) + b"\x02"]
    found = decode(spark, AvroRows(spark, registry, subjects=["count-value"]), values)
    assert [problem for _, problem in found] == [
        ("record.invalid", "the value is null"),
        ("record.undecodable", "the message is too short to carry a schema id:  (0 bytes)"),
        ("record.undecodable", "the message is too short to carry a schema id: 0000 (2 bytes)"),
        (
            "record.undecodable",
            "the message begins with byte 0x7b, not with 0x00 and a schema id: 7b22636f756e74223a20357d (12 bytes)",
        ),
        ("schema.not_found", "the registry does not know the schema id: 000000004d02 (6 bytes)"),
    ]


def test_a_schema_that_is_registered_late_is_found_once_its_id_is_due_again(
    spark: SparkSession, registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.register("count-value", FIRST)
    elsewhere = MemoryRegistry()
    elsewhere.register("count-value", FIRST)
    late = encoded(elsewhere, SECOND, {"count": 2, "note": "two"})
    decoder = AvroRows(spark, registry, subjects=["count-value"])
    clock = 0.0
    monkeypatch.setattr("penstock.spark.learnt.time", SimpleNamespace(monotonic=lambda: clock))
    assert decode(spark, decoder, [late])[0][1][0] == "schema.not_found"
    registry.register("count-value", SECOND)
    assert decode(spark, decoder, [late])[0][1][0] == "schema.not_found"
    clock += ASK_AGAIN_SECONDS
    assert decode(spark, decoder, [late]) == [({"count": 2, "note": "two"}, None)]


def test_a_message_that_the_reader_cannot_read_says_why(spark: SparkSession, registry: MemoryRegistry) -> None:
    message = encoded(registry, FIRST, {"count": 5})
    reader = Schema.from_text('{"type": "record", "name": "Count", "fields": [{"name": "by", "type": "string"}]}')
    [(_, problem)] = decode(spark, AvroRows(spark, registry, reader=reader), [message])
    assert problem[0] == "schema.incompatible"
    assert "by" in problem[1]


def test_without_any_schema_there_are_no_rows(spark: SparkSession, registry: MemoryRegistry) -> None:
    with pytest.raises(SchemaError, match="the registry has no schema under count-value"):
        AvroRows(spark, registry, subjects=["count-value"])
