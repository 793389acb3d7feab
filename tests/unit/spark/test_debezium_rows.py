"""Real messages of Debezium 3.6 on PostgreSQL 18, a table of every type, in each of their forms."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import SchemaNotFound
from penstock.schemas import MemoryRegistry, Schema
from penstock.spark.debezium.columns import apart, united, wider
from penstock.spark.debezium.rows import DebeziumRows
from penstock.spark.debezium.shapes import ShapeReader
from penstock.spark.debezium.values import meaning
from penstock.spark.debezium.wire import Wire
from penstock.spark.decoding import PROBLEM
from penstock.spark.failures import UnknownSchemas, spark_failures
from penstock.spark.learnt import ASK_AGAIN_SECONDS

pytestmark = pytest.mark.timeout(300)
CAPTURED = Path(__file__).parents[2] / "fixtures" / "debezium"
MESSAGES = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>, topic string, partition int, "
    "offset bigint, timestamp timestamp"
)
Pair = tuple[bytes | None, bytes | None]
DDL = "id int, num string, num102 decimal(10,2), d date, ts timestamp_ntz, tstz timestamp, by binary, ia array<int>"


class CapturedRegistry(MemoryRegistry):
    """The schemas as the registry had them, by their ids."""

    def by_id(self, schema_id: object) -> Schema:
        return Schema.from_registry(json.dumps(captured("avro")["schemas"][str(schema_id)]))


class LateRegistry(CapturedRegistry):
    """A registry that the schemas reach after the first messages."""

    is_late = True

    def by_id(self, schema_id: object) -> Schema:
        if self.is_late:
            raise SchemaNotFound(f"the registry has no schema with the id {schema_id}")
        return super().by_id(schema_id)


def captured(name: str) -> Any:
    return json.loads((CAPTURED / f"{name}.json").read_text(encoding="utf-8"))


def wrapped(schema: object, payload: object) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def json_messages() -> list[Pair]:
    data = captured("json_precise")
    return [
        (
            wrapped(data["key_schema"], change["key"]) if change["key"] else None,
            wrapped(data["value_schema"], change["value"]),
        )
        for change in data["changes"]
    ]


def decode(spark: SparkSession, decoder: DebeziumRows, pairs: list[Pair]) -> list[dict[str, Any]]:
    """The decoded messages as JSON shows them, in order, learning shapes as a batch does."""
    rows = [(key, value, None, "t", 0, offset, None) for offset, (key, value) in enumerate(pairs)]
    messages = spark.createDataFrame(rows, MESSAGES).coalesce(1)
    for _ in range(2):
        try:
            with spark_failures("decoding"):
                decoded = decoder.decode(messages).select(F.to_json(F.struct(*decoder.fields(), PROBLEM, "offset")))
                return sorted((json.loads(row[0]) for row in decoded.collect()), key=lambda row: int(row["offset"]))
        except UnknownSchemas:
            decoder.learn(messages)
    raise AssertionError("the shapes were not learnt")


@pytest.fixture(scope="module")
def from_json(spark: SparkSession) -> list[dict[str, Any]]:
    tombstone = (json_messages()[5][0], None)
    heartbeat = (
        b'{"schema":{"type":"struct","fields":[]},"payload":{}}',
        wrapped({"type": "struct", "fields": []}, {}),
    )
    message = (b'{"prefix":"note"}', b'{"op":"m","ts_ms":1,"source":{"lsn":1},"message":{"prefix":"note"}}')
    unknown_op = json_messages()[9][1].replace(b'"op":"c"', b'"op":"x"')  # type: ignore[union-attr] - it has a value
    pairs = [*json_messages(), tombstone, heartbeat, message, (json_messages()[9][0], unknown_op), (None, b"nonsense")]
    return decode(spark, DebeziumRows(MemoryRegistry()), pairs)


def of(rows: list[dict[str, Any]], *, op: str, row_id: int | None = None) -> dict[str, Any]:
    return next(
        row for row in rows if row.get("_cdc", {}).get("op") == op and (row_id is None or row.get("id") == row_id)
    )


def test_values_have_their_true_types_and_units(from_json: list[dict[str, Any]]) -> None:
    row = of(from_json, op="r", row_id=1)
    expected = {
        "bi": 3000000000, "num102": 12.34, "mon": "12.34", "d": "2024-02-29", "t": "12:34:56.123456",
        "t3": "12:34:56.123000", "tz": "10:34:56.123456Z", "tstz": "2024-02-29T10:34:56.123Z", "by": "AAH/",
        "iv": "P1Y2M3DT4H5M6.789S", "uu": "550e8400-e29b-41d4-a716-446655440000", "jb": '{"b": 2}', "md": "happy",
        "ia": [1, 2, None], "ta": ["a", None], "na": [1.5, 2.25], "da": ["2024-02-29"], "ba": ["AQ=="], "bt8": "qg==",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["ts"].startswith("2024-02-29T12:34:56.123")
    assert row["ts3"].startswith("2024-02-29T12:34:56.123")


def test_numbers_of_any_scale_keep_every_digit_up_to_38_and_more_are_refused(from_json: list[dict[str, Any]]) -> None:
    assert (of(from_json, op="c", row_id=5)["num"], of(from_json, op="c", row_id=5)["num50"]) == ("-0.001", "-1.50000")
    assert of(from_json, op="c", row_id=6)["num"] == "1" + "0" * 30
    refusal = of(from_json, op="r", row_id=1)["problem"]
    assert refusal == {"code": "record.invalid", "message": "values cannot be read exactly: num, num50"}


@pytest.mark.timeout(60)
def test_numbers_that_no_database_sends_are_refused_at_once(spark: SparkSession) -> None:
    digits = {"__debezium.source.column.type": "NUMERIC", "scale": "2", "connect.decimal.precision": "10"}
    text = meaning(Wire("string", parameters=digits))
    variable = meaning(Wire("struct", "io.debezium.data.VariableScaleDecimal"))
    numbers = ["1e30000000", "1e-30000000", "1e2147483647", "0" * 100_000 + "." + "0" * 1_000_000, "1.255", "-1.5e1"]
    scales = [2_147_483_647, -2_147_483_648, 50_000_000, -50_000_000, 3, -2]
    rows = spark.createDataFrame(list(zip(numbers, scales, strict=True)), "number string, scale int").coalesce(1)
    scaled = F.struct(F.lit(bytearray(b"\x05")).alias("value"), F.col("scale"))
    found = rows.select(text.convert(F.col("number")).cast("string"), variable.convert(scaled)).collect()
    assert [row[0] for row in found] == [None, None, None, None, None, "-15.00"]
    assert [row[1] for row in found] == [None, None, None, None, "0.005", "500"]


def test_what_a_type_cannot_hold_is_stated(from_json: list[dict[str, Any]]) -> None:
    infinite = of(from_json, op="r", row_id=3)
    assert infinite["_cdc"]["outside"] == {"d": "infinity", "ts": "infinity", "tstz": "infinity"}
    assert "ts" not in infinite
    assert (infinite["dp"], infinite["re"]) == ("NaN", "Infinity")
    assert of(from_json, op="r", row_id=4)["_cdc"]["outside"] == {"ts3": "-infinity"}
    assert of(from_json, op="r", row_id=4)["t"] == "24:00:00.000000"


def test_values_that_were_not_sent_again_are_named(from_json: list[dict[str, Any]]) -> None:
    update = of(from_json, op="u", row_id=1)
    assert update["_cdc"]["unavailable"] == ["jb", "ia", "ta"]
    assert not {"jb", "ia", "ta"} & set(update)
    assert update["si"] == 77


def named(*columns: str) -> Pair:
    """A change of a table with these columns, of which the first one is the key."""
    schema = [{"field": name, "type": "int32"} for name in columns]
    source = {"field": "source", "type": "struct", "fields": [{"field": "lsn", "type": "int64"}]}
    fields = [{"field": "after", "type": "struct", "fields": schema}, {"field": "op", "type": "string"}, source]
    after = {name: number for number, name in enumerate(columns)}
    key = wrapped({"type": "struct", "fields": schema[:1]}, {columns[0]: 0})
    return key, wrapped({"type": "struct", "fields": fields}, {"after": after, "op": "c", "source": {"lsn": 1}})


def test_columns_get_names_that_the_lake_takes(spark: SparkSession) -> None:
    [row] = decode(spark, DebeziumRows(MemoryRegistry()), [named("no. (old)", "unit price", "a=b;c")])
    assert (row["no.__old_"], row["unit_price"], row["a_b_c"]) == (0, 1, 2)
    assert row["_cdc"]["keys"] == ["no.__old_"]


@pytest.mark.parametrize("columns", [("id", "a b", "a_b"), ("id", "ID")])
def test_two_columns_that_would_have_one_name_are_refused_and_not_mixed(
    spark: SparkSession, columns: tuple[str, ...]
) -> None:
    [row] = decode(spark, DebeziumRows(MemoryRegistry()), [named(*columns)])
    assert f"columns {columns[-2]!r} and {columns[-1]!r} would have one name in the lake" in row["problem"]["message"]


@pytest.mark.parametrize(("before", "after", "column"), [("Note", "note", "Note"), ("a b", "a_b", "a_b")])
def test_a_column_that_gets_another_name_but_the_same_in_the_lake_goes_on_in_it(
    spark: SparkSession, before: str, after: str, column: str
) -> None:
    rows = decode(spark, DebeziumRows(MemoryRegistry()), [named("Id", before), named("id", after)])
    assert [(row.get("problem"), row["Id"], row[column]) for row in rows] == [(None, 0, 1), (None, 0, 1)]
    assert [row["_cdc"]["keys"] for row in rows] == [["Id"], ["Id"]]


PLACEHOLDER = "__debezium_unavailable_value"
NAMED_UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
TEXT = {"type": "string"}
PLACEHOLDERS: dict[str, tuple[dict[str, Any], object]] = {
    "text": (TEXT, PLACEHOLDER),
    "bytea": ({"type": "bytes"}, base64.b64encode(PLACEHOLDER.encode()).decode()),
    "jsonb": ({"type": "string", "name": "io.debezium.data.Json"}, PLACEHOLDER),
    "xml": ({"type": "string", "name": "io.debezium.data.Xml"}, PLACEHOLDER),
    "hstore": ({"type": "string", "name": "io.debezium.data.Json"}, f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'),
    "hstore_map": ({"type": "map", "keys": TEXT, "values": TEXT}, {PLACEHOLDER: PLACEHOLDER}),
    "texts": ({"type": "array", "items": TEXT}, [PLACEHOLDER]),
    "byteas": ({"type": "array", "items": {"type": "bytes"}}, [base64.b64encode(PLACEHOLDER.encode()).decode()]),
    "ints": ({"type": "array", "items": {"type": "int32"}}, [*PLACEHOLDER.encode()]),
    "bigints": ({"type": "array", "items": {"type": "int64"}}, [*PLACEHOLDER.encode()]),
    "dates": ({"type": "array", "items": {"type": "int32", "name": "io.debezium.time.Date"}}, [*PLACEHOLDER.encode()]),
    # As Java's UUID.nameUUIDFromBytes makes it of the placeholder.
    "uuids": ({"type": "array", "items": {"type": "string", "name": "io.debezium.data.Uuid"}}, [NAMED_UUID]),
    "numeric": ({"type": "string", "parameters": {"__debezium.source.column.type": "NUMERIC"}}, PLACEHOLDER),
}  # fmt: skip


def test_what_stands_for_a_large_value_is_known_for_every_type_that_has_one(spark: SparkSession) -> None:
    schema = [{"field": name, **kind} for name, (kind, _) in PLACEHOLDERS.items()]
    after = {name: value for name, (_, value) in PLACEHOLDERS.items()}
    fields = [{"field": "after", "type": "struct", "fields": schema}, {"field": "op", "type": "string"}]
    fields.append({"field": "source", "type": "struct", "fields": [{"field": "lsn", "type": "int64"}]})
    change = wrapped({"type": "struct", "fields": fields}, {"after": after, "op": "u", "source": {"lsn": 1}})
    [row] = decode(spark, DebeziumRows(MemoryRegistry()), [(None, change)])
    assert row["_cdc"]["unavailable"] == list(PLACEHOLDERS)
    assert set(row) == {"_cdc", "offset"}


def test_a_change_carries_its_position_and_its_key(from_json: list[dict[str, Any]]) -> None:
    first, update, delete = (of(from_json, op=op) for op in ("r", "u", "d"))
    assert first["_cdc"]["snapshot"] is True
    assert "commit" not in first["_cdc"]
    assert (update["_cdc"]["commit"], update["_cdc"]["lsn"]) == (256142704, 256146120)
    assert (update["_cdc"]["tx"], update["_cdc"]["tx_order"], update["_cdc"]["keys"]) == ("2094", 1, ["id"])
    assert (delete["id"], delete["_cdc"]["at"]) == (2, "2026-11-16T01:57:14.465Z")


def test_a_row_that_was_sent_again_has_the_position_up_to_which_changes_were_sent(spark: SparkSession) -> None:
    kinds = {"snapshot": "string", "lsn": "int64", "sequence": "string"}
    source = {"field": "source", "type": "struct", "fields": [{"field": name, "type": kinds[name]} for name in kinds]}
    fields = [{"field": "after", **shape_of({"id": 0})}, {"field": "op", "type": "string"}, source]
    places = [('["37456896","37456896"]', None), ('["37456896","37456952"]', 37456952), ('[null,"37439200"]', None)]
    changes = [
        {"after": {"id": 1}, "op": "r", "source": {"snapshot": "incremental", "lsn": lsn, "sequence": sequence}}
        for sequence, lsn in places
    ]
    pairs: list[Pair] = [(None, wrapped({"type": "struct", "fields": fields}, change)) for change in changes]
    rows = [row["_cdc"] for row in decode(spark, DebeziumRows(MemoryRegistry()), pairs)]
    told = [(row.get("commit"), row.get("lsn")) for row in rows]
    assert told == [(37456896, 37456896), (37456896, 37456952), (None, 37439200)]


def test_positions_in_files_of_a_log_grow_from_file_to_file(spark: SparkSession) -> None:
    places = [("binlog.000003", 5000), ("binlog.000004", 157), ("binlog.000004", 2**32 - 1), ("binlog.000010", 4)]
    kinds = {"file": "string", "pos": "int64"}
    source = {"field": "source", "type": "struct", "fields": [{"field": name, "type": kinds[name]} for name in kinds]}
    fields = [{"field": "after", **shape_of({"id": 0})}, {"field": "op", "type": "string"}, source]
    changes = [{"after": {"id": 1}, "op": "u", "source": {"file": file, "pos": pos}} for file, pos in places]
    pairs: list[Pair] = [(None, wrapped({"type": "struct", "fields": fields}, change)) for change in changes]
    told = [(row["_cdc"]["commit"], row["_cdc"]["lsn"]) for row in decode(spark, DebeziumRows(MemoryRegistry()), pairs)]
    assert told == sorted(told)
    assert [lsn for _, lsn in told] == sorted(lsn for _, lsn in told)
    assert len({commit for commit, _ in told}) == 3


def test_a_truncate_is_a_row_of_nothing_and_what_is_no_change_is_none(from_json: list[dict[str, Any]]) -> None:
    truncate = of(from_json, op="t")
    assert set(truncate) == {"_cdc", "offset"}
    assert [row["offset"] for row in from_json] == [*range(12), 15, 16]


def test_unknown_operations_and_what_is_not_of_debezium_are_refused(from_json: list[dict[str, Any]]) -> None:
    assert from_json[-2]["problem"] == {"code": "record.invalid", "message": "there is no operation x"}
    assert from_json[-1]["problem"]["code"] == "record.undecodable"


def avro_messages() -> list[Pair]:
    return [
        tuple(None if part is None else base64.b64decode(part) for part in (message["key"], message["value"]))  # type: ignore[misc] - a pair of two
        for message in captured("avro")["messages"]
    ]


def test_a_schema_that_is_registered_late_is_found_once_its_id_is_due_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, pairs = LateRegistry(), avro_messages()[:1]
    decoder = DebeziumRows(registry)
    clock = 0.0
    monkeypatch.setattr("penstock.spark.learnt.time", SimpleNamespace(monotonic=lambda: clock))
    assert decode(spark, decoder, pairs)[0]["problem"]["code"] == "schema.not_found"
    registry.is_late = False
    assert decode(spark, decoder, pairs)[0]["problem"]["code"] == "schema.not_found"
    clock += ASK_AGAIN_SECONDS
    [row] = decode(spark, decoder, pairs)
    assert (row["id"], row.get("problem")) == (6, None)


def test_avro_is_read_by_the_writers_of_each_message(spark: SparkSession) -> None:
    pairs = avro_messages()
    damaged = (pairs[0][0], pairs[0][1][:-3] if pairs[0][1] else None)
    rows = decode(spark, DebeziumRows(CapturedRegistry()), [*pairs, damaged])
    assert [row["_cdc"]["op"] for row in rows[:-1]].count("r") == 5
    assert {row["_cdc"]["op"] for row in rows[:-1]} == {"r", "c", "u", "d", "t"}
    first = of(rows, op="r", row_id=1)
    assert first["num"] == "12345.678901234567890123456789012345678901"
    assert first["num50"] == "1234567890123456789012345678901234567890.12345"
    assert (first["num102"], first["na"]) == (12.34, [1.5, 2.25])
    not_numbers = of(rows, op="r", row_id=3)
    assert (not_numbers["num"], not_numbers["_cdc"]["outside"]["num102"]) == ("NaN", "NaN")
    assert rows[-1]["problem"]["code"] == "record.undecodable"


def test_json_without_schemas_is_read_by_given_columns_and_refused_without_them(spark: SparkSession) -> None:
    pairs: list[Pair] = [
        tuple(json.dumps(change[part], separators=(",", ":")).encode() for part in ("key", "value"))  # type: ignore[misc] - as above
        for change in captured("bare_json")
    ]
    columns = spark.createDataFrame([], DDL).schema
    row = decode(spark, DebeziumRows(MemoryRegistry(), columns=columns), pairs)[0]
    assert (row["id"], row["num102"], row["d"], row["_cdc"]["keys"]) == (1, 12.34, "2024-02-29", ["id"])
    assert row["tstz"] == "2024-02-29T10:34:56.123Z"
    [refused] = decode(spark, DebeziumRows(MemoryRegistry()), pairs[:1])
    assert "no schema part" in refused["problem"]["message"]


def test_a_payload_is_parsed_without_the_schema_before_it_if_connect_wrote_the_message() -> None:
    key, value = json_messages()[0]
    assert value is not None
    reader = ShapeReader(MemoryRegistry())
    (head,) = reader.shape(key, value).heads
    assert value[head:].startswith(b'{"before":')
    assert not reader.shape(key, json.dumps(json.loads(value), indent=1).encode()).heads


def test_a_table_whose_columns_come_and_go_is_read_as_one_shape_and_a_changed_type_as_another(
    spark: SparkSession,
) -> None:
    tables = [{"id": 1}, {"id": 2, "note": "x"}, {"id": 3, "note": "y", "lead": "z"}, {"id": 4}, {"id": 5, "note": 7}]
    pairs = [(wrapped(shape_of({"id": 0}), {"id": row["id"]}), change_of(row)) for row in tables]
    decoder = DebeziumRows(MemoryRegistry())
    rows = decode(spark, decoder, pairs)
    kept = [{name: row[name] for name in ("id", "note", "lead", "note__int") if name in row} for row in rows]
    assert kept == [*tables[:4], {"id": 5, "note__int": 7}]
    assert len(decoder._shapes) == 2


@pytest.mark.parametrize(("first", "second", "apart"), [(7, "x", "note__string"), ("x", 7, "note__int")])
def test_of_two_types_of_a_column_the_first_in_the_topic_has_its_name(
    spark: SparkSession, first: object, second: object, apart: str
) -> None:
    tables = [{"id": number, "note": first if number < 3 else second} for number in range(6)]
    rows = decode(spark, DebeziumRows(MemoryRegistry()), [(None, change_of(row)) for row in tables])
    assert [(row.get("note"), row.get(apart)) for row in rows] == [(first, None)] * 3 + [(None, second)] * 3


@pytest.mark.parametrize(("first", "second"), [(7, "x"), ("x", 7)])
def test_a_key_whose_type_changes_between_whole_numbers_and_text_stays_one_column(
    spark: SparkSession, first: object, second: object
) -> None:
    decoder = DebeziumRows(MemoryRegistry())
    for batch in ([first, first], [first, second], [second]):
        rows = decode(spark, decoder, [keyed(value) for value in batch])
        assert [(str(row["id"]), row["_cdc"]["keys"]) for row in rows] == [(str(value), ["id"]) for value in batch]


def test_a_key_that_is_no_number_is_text_beside_text(spark: SparkSession) -> None:
    number = {"__debezium.source.column.type": "NUMERIC", "__debezium.source.column.length": "9"}
    parameters: Any = {"parameters": {**number, "__debezium.source.column.scale": "0"}}
    rows = decode(spark, DebeziumRows(MemoryRegistry()), [keyed("NaN", **parameters), keyed("x")])
    assert [(row.get("problem"), row["id"]) for row in rows] == [(None, "NaN"), (None, "x")]


def test_a_key_whose_new_type_cannot_be_compared_is_told_by_the_column_that_has_it(spark: SparkSession) -> None:
    rows = decode(spark, DebeziumRows(MemoryRegistry()), [keyed("x"), keyed(b"y")])
    assert [(row.get("id"), row["_cdc"]["keys"]) for row in rows] == [("x", ["id"]), (None, ["id__binary"])]
    assert rows[1]["id__binary"] == base64.b64encode(b"y").decode()


def test_a_key_that_is_an_infinite_date_is_refused_since_there_are_two(spark: SparkSession) -> None:
    day = {"type": "int32", "name": "io.debezium.time.Date"}
    rows = decode(spark, DebeziumRows(MemoryRegistry()), [keyed(20_000, **day), keyed(-(2**31), **day)])
    assert [row.get("problem", {}).get("message") for row in rows] == [
        None,
        "an infinite date is a part of the key, and Debezium does not send which one",
    ]


def keyed(value: object, **given: str) -> Pair:
    """A change of a row with this key."""
    kind = {int: "int32", str: "string", bytes: "bytes"}[type(value)]
    sent = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    row = {"type": "struct", "fields": [{"field": "id", "type": kind, **given}]}
    source = {"field": "source", "type": "struct", "fields": [{"field": "lsn", "type": "int64"}]}
    fields = [{"field": "after", **row}, source, {"field": "op", "type": "string"}]
    payload = {"after": {"id": sent}, "source": {"lsn": 1}, "op": "c"}
    return wrapped(row, {"id": sent}), wrapped({"type": "struct", "fields": fields}, payload)


@pytest.mark.parametrize("name", ["_cdc", "_CDC", "_kafka"])
def test_a_column_with_the_name_of_one_that_every_table_has_is_refused(spark: SparkSession, name: str) -> None:
    [row] = decode(spark, DebeziumRows(MemoryRegistry()), [named("id", name)])
    assert f"column {name!r} has the name of a column that tables in the lake have" in row["problem"]["message"]


def test_columns_named_like_what_is_told_of_a_change_are_columns_like_others(spark: SparkSession) -> None:
    row = {"id": 1, "op": "mine", "_cdc_op": "mine too"}
    [found] = decode(spark, DebeziumRows(MemoryRegistry()), [(None, change_of(row))])
    assert {name: found[name] for name in row} == row
    assert found["_cdc"]["op"] == "c"


def shape_of(row: dict[str, Any]) -> dict[str, Any]:
    kinds = {int: "int32", str: "string"}
    return {"type": "struct", "fields": [{"field": name, "type": kinds[type(value)]} for name, value in row.items()]}


def change_of(row: dict[str, Any]) -> bytes:
    source = {"field": "source", "type": "struct", "fields": [{"field": "lsn", "type": "int64"}]}
    fields = [{"field": "after", **shape_of(row)}, source, {"field": "op", "type": "string"}]
    # The payload has what parts it from its schema inside of itself, where the next shape's payload begins.
    payload = {"after": {**row, "padding": [{"a": 1, "payload": 2}] * 20}, "source": {"lsn": row["id"]}, "op": "c"}
    return wrapped({"type": "struct", "fields": fields}, payload)


def test_types_that_fit_are_widened_and_others_get_a_column_of_their_own() -> None:
    first = T.StructType([T.StructField("a", T.IntegerType()), T.StructField("b", T.IntegerType())])
    second = T.StructType([T.StructField("a", T.LongType()), T.StructField("b", T.StringType())])
    assert united([first, second]).simpleString() == "struct<a:bigint,b:int,b__string:string>"
    assert wider(T.DecimalType(10, 2), T.DecimalType(8, 4)) == T.DecimalType(12, 4)
    assert wider(T.DecimalType(38, 2), T.DecimalType(38, 10)) is None
    assert apart("price", T.DecimalType(10, 2)) == "price__decimal_10_2"
