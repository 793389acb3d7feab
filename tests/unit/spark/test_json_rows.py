from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.errors import SchemaError
from penstock.schemas import Schema
from penstock.spark.decoding import PROBLEM
from penstock.spark.json.rows import JsonRows
from penstock.spark.json.shape import Record, shape_of_ddl, shape_of_schema

EVERY_TYPE = """{"type": "record", "name": "Everything", "fields": [
  {"name": "text", "type": "string"},
  {"name": "number", "type": ["null", "int"]},
  {"name": "long", "type": ["null", "long"]},
  {"name": "ratio", "type": ["null", "double"]},
  {"name": "flag", "type": ["null", "boolean"]},
  {"name": "symbol", "type": ["null", {"type": "enum", "name": "Symbol", "symbols": ["UP", "DOWN"]}]},
  {"name": "moment", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
  {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
  {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}]},
  {"name": "raw", "type": ["null", "bytes"]},
  {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
  {"name": "counts", "type": ["null", {"type": "map", "values": "long"}]},
  {"name": "place", "type": ["null", {"type": "record", "name": "Place", "fields": [
    {"name": "city", "type": "string"}, {"name": "floor", "type": ["null", "int"]}]}]}
]}"""

HALF = "a text has half of a surrogate pair, which is no character: "
NOT_JSON = "record.undecodable"
INVALID = "record.invalid"


def decode(spark: SparkSession, values: list[bytes | None], shape: Record) -> list[tuple[Any, Any]]:
    """Each message's row, without its nulls, and its problem."""
    decoder = JsonRows(shape)
    messages = spark.createDataFrame([(value,) for value in values], "value binary")
    found = decoder.decode(messages).select(F.struct(*decoder.fields()).alias("row"), PROBLEM).collect()
    return [
        (
            {name: _utc(value) for name, value in each.row.asDict(recursive=True).items() if value is not None},
            tuple(each[PROBLEM]) if each[PROBLEM] else None,
        )
        for each in found
    ]


def _utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


@pytest.fixture(scope="module")
def everything() -> Record:
    return shape_of_schema(Schema.from_text(EVERY_TYPE))


GOOD: dict[bytes, dict[str, Any]] = {
    b'{"text":"x"}': {"text": "x"},
    b'{"text": "x", "number": 1}': {"text": "x", "number": 1},
    b'{"text":"x"}\n': {"text": "x"},
    b'{"text":"5"}': {"text": "5"},
    b'{"text": "5"}': {"text": "5"},
    b'{"text":"\\u0035"}': {"text": "5"},
    b'{"text":"true"}': {"text": "true"},
    b'{"text":"{}"}': {"text": "{}"},
    b'{"text":"a\\nb \\" c"}': {"text": 'a\nb " c'},
    b'{"text":"x","unknown":[1,{"a":2}]}': {"text": "x"},
    b'{"text":"x","ratio":1}': {"text": "x", "ratio": 1.0},
    b'{"text":"x","long":9223372036854775807}': {"text": "x", "long": 9223372036854775807},
    b'{"text":"x","flag":false}': {"text": "x", "flag": False},
    b'{"text":"x","symbol":"UP"}': {"text": "x", "symbol": "UP"},
    b'{"text":"x","moment":"2026-01-02T03:04:05.678Z"}': {
        "text": "x",
        "moment": datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    },
    b'{"text":"x","moment":1767323045678}': {
        "text": "x",
        "moment": datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    },
    b'{"text":"x","day":"2026-01-02"}': {"text": "x", "day": date(2026, 1, 2)},
    b'{"text":"x","day":17}': {"text": "x", "day": date(1970, 1, 18)},
    b'{"text":"x","price":12.5}': {"text": "x", "price": Decimal("12.50")},
    b'{"text":"x","price":"12.50"}': {"text": "x", "price": Decimal("12.50")},
    b'{"text":"x","price":1.25e1}': {"text": "x", "price": Decimal("12.50")},
    b'{"text":"x","price":"-1250E-2"}': {"text": "x", "price": Decimal("-12.50")},
    b'{"text":"1e30000000","price":12.500}': {"text": "1e30000000", "price": Decimal("12.50")},
    b'{"text":"x","price":null}': {"text": "x"},
    b'{"text":"a\\\\ud800 \\ud83d\\ude00"}': {"text": "a\\ud800 \U0001f600"},
    b'{"text":"x","raw":"\\u00ff\\u0000"}': {"text": "x", "raw": b"\xff\x00"},
    b'{"text":"x","tags":["p","5"]}': {"text": "x", "tags": ["p", "5"]},
    b'{"text":"x","counts":{"k":1}}': {"text": "x", "counts": {"k": 1}},
    b'{"text":"x","place":{"city":"Oslo"}}': {"text": "x", "place": {"city": "Oslo", "floor": None}},
}

BAD: dict[bytes | None, tuple[str, str]] = {
    None: (INVALID, "the value is null"),
    b"": (NOT_JSON, "not JSON: "),
    b"nonsense": (NOT_JSON, "not JSON: nonsense"),
    b'{"text":"x"': (NOT_JSON, 'not JSON: {"text":"x"'),
    b'{"text":"x"]': (NOT_JSON, 'not JSON: {"text":"x"]'),
    b'{"text":"x"\xff': (NOT_JSON, 'not JSON: {"text":"x"\ufffd'),
    b'{"text":"x","ratio":12': (NOT_JSON, 'not JSON: {"text":"x","ratio":12'),
    b'{"text":"x",}': (NOT_JSON, 'not JSON: {"text":"x",}'),
    b'{"text":"x"} more': (NOT_JSON, 'not JSON: {"text":"x"} more'),
    b'{"text":"x"}{"text":"y"}': (NOT_JSON, 'not JSON: {"text":"x"}{"text":"y"}'),
    b'{"text":"x"}}': (NOT_JSON, 'not JSON: {"text":"x"}}'),
    b'{"text":"x"},"more":{}': (NOT_JSON, 'not JSON: {"text":"x"},"more":{}'),
    b'{"text":"x"},{}': (NOT_JSON, 'not JSON: {"text":"x"},{}'),
    b'{"text":"x"},"end":true}': (NOT_JSON, 'not JSON: {"text":"x"},"end":true}'),
    b'{"text":"x"}],[{}': (NOT_JSON, 'not JSON: {"text":"x"}],[{}'),
    b'{"text":"x","penstock.end":true} more }': (NOT_JSON, 'not JSON: {"text":"x","penstock.end":true} more }'),
    b'{"text":"a\\ud800b"}': (NOT_JSON, f'{HALF}{{"text":"a\\ud800b"}}'),
    b'{"text":"\\uDC00\\uD800"}': (NOT_JSON, f'{HALF}{{"text":"\\uDC00\\uD800"}}'),
    b"{'text':'x'}": (NOT_JSON, "not JSON: {'text':'x'}"),
    b'{"text":"x","ratio":NaN}': (NOT_JSON, 'not JSON: {"text":"x","ratio":NaN}'),
    b'{"text":"\xff"}': (NOT_JSON, 'not JSON: {"text":"\ufffd"}'),
    b"null": (INVALID, "null is not an object"),
    b"[]": (INVALID, "[] is not an object"),
    b"{}": (INVALID, "text: the field is missing"),
    b'{"text":null}': (INVALID, "text: the field is missing"),
    b'{"text":5}': (INVALID, "text: 5 is not a string"),
    b'{"text":true}': (INVALID, "text: true is not a string"),
    b'{"text":{"a":1}}': (INVALID, 'text: {"a":1} is not a string'),
    b'{"\\u0074ext":5}': (INVALID, "text: 5 is not a string"),
    b'{"text":"x","number":"1"}': (INVALID, 'number: "1" is not an int'),
    b'{"text":"x","number":1.5}': (INVALID, "number: 1.5 is not an int"),
    b'{"text":"x","number":99999999999}': (INVALID, "number: 99999999999 is not an int"),
    b'{"text":"x","flag":"true"}': (INVALID, 'flag: "true" is not a boolean'),
    b'{"text":"x","symbol":"LEFT"}': (INVALID, 'symbol: "LEFT" is not one of UP, DOWN'),
    b'{"text":"x","ratio":1e999}': (INVALID, 'ratio: "Infinity" is not a double'),
    b'{"text":"x","moment":9223372036854775807}': (INVALID, "moment: 9223372036854775807 is not a timestamp"),
    b'{"text":"x","moment":-9223372036854775808}': (INVALID, "moment: -9223372036854775808 is not a timestamp"),
    b'{"text":"x","moment":"soon"}': (INVALID, 'moment: "soon" is not a timestamp'),
    b'{"text":"x","moment":"17"}': (INVALID, 'moment: "17" is not a timestamp'),
    b'{"text":"x","day":true}': (INVALID, "day: true is not a date"),
    b'{"text":"x","price":12.555}': (INVALID, "price: 12.555 is not a decimal"),
    b'{"text":"x","price":123456.5}': (INVALID, "price: 123456.5 is not a decimal"),
    b'{"text":"x","price":true}': (INVALID, "price: true is not a decimal"),
    b'{"text":"x","price":[1]}': (INVALID, "price: [1] is not a decimal"),
    b'{"text":"x","price":1e-30}': (INVALID, "price: 1.0E-30 is not a decimal"),
    b'{"text":"x","price":1.00000000000000000001e3}': (INVALID, "price: 1000.0 is not a decimal"),
    b'{"text":"x","raw":"\\u0100"}': (INVALID, 'raw: "\u0100" is not bytes'),
    b'{"text":"x","tags":["p",5]}': (INVALID, "tags[1]: 5 is not a string"),
    b'{"text":"x","tags":["p",null]}': (INVALID, "tags[1]: the value is null"),
    b'{"text":"x","tags":"p"}': (INVALID, 'tags: "p" is not an array'),
    b'{"text":"x","counts":{"k":"1"}}': (INVALID, 'counts["k"]: "1" is not a long'),
    b'{"text":"x","place":{"floor":1}}': (INVALID, "place.city: the field is missing"),
    b'{"text":"x","place":{"city":1}}': (INVALID, "place.city: 1 is not a string"),
    b'{"text":"x","place":5}': (INVALID, "place: 5 is not an object"),
}


def test_messages_that_fit_become_rows(spark: SparkSession, everything: Record) -> None:
    assert decode(spark, list(GOOD), everything) == [(row, None) for row in GOOD.values()]


def test_messages_that_do_not_fit_are_refused_by_field_and_value(spark: SparkSession, everything: Record) -> None:
    found = decode(spark, list(BAD), everything)
    assert dict(zip(BAD, (problem for _, problem in found), strict=True)) == BAD


@pytest.mark.timeout(60)
@pytest.mark.parametrize("exponent", ["30000000", "-30000000", "2147483647", "-2147483648", "99999999999999999999"])
def test_the_size_of_an_exponent_costs_no_time(spark: SparkSession, exponent: str) -> None:
    shape = shape_of_ddl("price DECIMAL(10,2), prices ARRAY<DECIMAL(10,2)>, ratio DOUBLE, id BIGINT, name STRING")
    number, text = f"1e{exponent}", f'"1e{exponent}"'
    values = [f'"{name}":{value}' for name in ("price", "ratio", "id") for value in (number, text)]
    values += [f'"prices":[1,{number}]', f'"prices":[1,{text}]', f'"price":"1\\u0065{exponent}"', f'"name":{number}']
    found = decode(spark, [f"{{{value}}}".encode() for value in values], shape)
    taken = [value for value, (_, problem) in zip(values, found, strict=True) if problem is None]
    assert taken == ([f'"ratio":{number}'] if exponent.startswith("-") else [])


def test_decimals_keep_every_digit(spark: SparkSession) -> None:
    digits = "12345678901234567890123456789012345.678"
    values = [digits, f'"{digits}"', f"-{digits}", '"1234567890123456789012345678901234567.8e-2"', "0e9", "null"]
    found = decode(spark, [f'{{"n":{value}}}'.encode() for value in values], shape_of_ddl("n DECIMAL(38,3)"))
    exact = [digits, digits, f"-{digits}", "12345678901234567890123456789012345.678", "0.000"]
    assert found == [*(({"n": Decimal(each)}, None) for each in exact), ({}, None)]


BESIDE = (
    '"u":"7d0a1e55-3e5f-4c1e-9e10-123456789012"',
    f'"h":"{"123456789e300" * 5}"',
    f'"h":"{"7" * 39}"',
    '"h":"\\\\","q":"\\"1.5e400"',
    f'"d":{"1" * 45},"e":1e-300',
    '"d":0.1e0,"e":5e-324',
)
EXPONENTS = (
    "1e-05", "1e-7", "1.2345678E7", "1.234567812345678E7", "-1.2345678123456789E7", "9007199254740993e0", "0e0",
    "9007199254740993000e-3", "12345678901234567890.1234567890E0", "8.41E17", "-2E17", "123.4567890123", '"1e-05"',
    "0.0000000000" + "0" * 40,
)  # fmt: skip


@pytest.mark.parametrize("beside", BESIDE)
def test_decimals_with_an_exponent_are_exact_whatever_stands_beside_them(spark: SparkSession, beside: str) -> None:
    shape = shape_of_ddl("n DECIMAL(38,10), ns ARRAY<DECIMAL(38,10)>, at STRUCT<n: DECIMAL(38,10)>, d DOUBLE")
    forms = ['{{"n":{},{}}}', '{{{1}, "n": {0} }}', '{{"ns":[1,{0}, 2.5e1],{1}}}', '{{"at":{{"n":{0}}},{1}}}']
    values = [form.format(number, beside).encode() for number in EXPONENTS for form in forms]
    expected = [Decimal(number.strip('"')) for number in EXPONENTS for _ in forms]
    found = decode(spark, values, shape)
    assert [problem for _, problem in found] == [None] * len(values)
    rows = [row for row, _ in found]
    assert [row.get("n") or row.get("ns", [0, 0])[1] or row.get("at", {}).get("n") or 0 for row in rows] == expected


def test_numbers_that_one_double_stands_for_are_refused_unless_equal(spark: SparkSession) -> None:
    values = ["9007199254740993e0,9007199254740992e0", "9007199254740993e0,9007199254740993.0E0"]
    found = decode(spark, [f'{{"n":[{value}]}}'.encode() for value in values], shape_of_ddl("n ARRAY<DECIMAL(20,2)>"))
    assert found[0][1] == (INVALID, "n[0]: 9.007199254740992E15 is not a decimal")
    assert found[1] == ({"n": [Decimal(9007199254740993)] * 2}, None)


@pytest.mark.timeout(60)
def test_many_rounded_numbers_cost_little_time(spark: SparkSession) -> None:
    shape = shape_of_ddl("n ARRAY<DECIMAL(20,2)>, text STRING")
    rounded = ",".join(f"{number}e0" for number in range(9007199254740993, 9007199254740993 + 20_000, 2))
    exact = ",".join(f"{number}e0" for number in range(30_000))
    few = ",".join(["9007199254740993e0"] * 5_000)
    text = f'{{"n":[1e0],"text":"{"e1" * 500_000}{chr(92) * 2 * 100_000}"}}'
    found = decode(spark, [*(f'{{"n":[{each}]}}'.encode() for each in (rounded, exact, few)), text.encode()], shape)
    assert [problem and problem[1] for _, problem in found] == [
        "n[0]: 9.007199254740992E15 is not a decimal", None, None, None,
    ]  # fmt: skip


def test_a_decimal_that_is_required_is_not_null(spark: SparkSession) -> None:
    found = decode(spark, [b'{"n":null}', b"{}"], shape_of_ddl("n DECIMAL(4,2) NOT NULL"))
    assert found == [({}, (INVALID, "n: the field is missing"))] * 2


def test_messages_of_texts_alone_are_read_as_strictly(spark: SparkSession) -> None:
    expected = {message: (row, None) for message, row in GOOD.items() if row.keys() == {"text"}}
    refused = {message: problem for message, problem in BAD.items() if b'"x","' not in (message or b"")}
    found = decode(spark, [*expected, *refused], shape_of_ddl("text STRING NOT NULL"))
    assert found[: len(expected)] == list(expected.values())
    assert [problem for _, problem in found[len(expected) :]] == list(refused.values())


def test_nothing_need_be_there_of_texts_that_may_be_missing_but_json(spark: SparkSession) -> None:
    good = [b"{}", b'{"other":"x"}', b'{"other":"x"} ', b'{"text":null}', b'{"penstock.end":"x"}']
    bad = [b"", b'{"other":"x"', b'{"other":"x"} more', b"{,}", b"[]", b"null"]
    found = decode(spark, [*good, *bad], shape_of_ddl("text STRING, day DATE"))
    assert found[: len(good)] == [({}, None)] * len(good)
    assert [row for row, problem in found[len(good) :] if problem is None] == []


def test_a_missing_field_takes_its_default(spark: SparkSession) -> None:
    schema = """{"type": "record", "name": "R", "fields": [
      {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 1},
      {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["new"]},
      {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
       "default": "\\u0001\\u0000"},
      {"name": "name", "type": "string", "default": "nobody"}]}"""
    shape = shape_of_schema(Schema.from_text(schema))
    expected = {"day": date(1970, 1, 2), "tags": ["new"], "price": Decimal("2.56"), "name": "nobody"}
    assert decode(spark, [b"{}", b'{"name":null,"price":null}'], shape) == [(expected, None)] * 2


def test_columns_of_ddl_are_required_where_they_are_not_null(spark: SparkSession) -> None:
    shape = shape_of_ddl("id BIGINT NOT NULL, name STRING")
    found = decode(spark, [b'{"id":1}', b'{"name":"x"}'], shape)
    assert found == [({"id": 1}, None), ({"name": "x"}, (INVALID, "id: the field is missing"))]


def test_a_wide_schema_is_read_too(spark: SparkSession) -> None:
    names = [f"field_{index}" for index in range(60)]
    shape = shape_of_ddl(", ".join(f"{name} STRING" for name in names))
    message = "{" + ",".join(f'"{name}":"{index}"' for index, name in enumerate(names)) + "}"
    wrong = message.replace('"59"', "59")
    [(row, _), (_, problem)] = decode(spark, [message.encode(), wrong.encode()], shape)
    assert row["field_59"] == "59"
    assert problem == (INVALID, "field_59: 59 is not a string")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('"string"', "not a record"),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":["int","string"]}]}', "a column has one type"),
        ('{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}', "holds itself"),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"null"}]}', "always null"),
    ],
)
def test_a_schema_that_cannot_be_rows_is_refused(schema: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        shape_of_schema(Schema.from_text(schema))
