"""JSON messages against Python's own strict reading of them: what is no JSON never becomes a row."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.spark.decoding import PROBLEM
from penstock.spark.json.rows import JsonRows
from penstock.spark.json.shape import shape_of_ddl
from tests.fuzz.budget import fuzz

PIECES = (
    '{"id": 81', '"id":1', '"price":', '"name":', "1.25", "-0.5E1", "1e30000000", "2147483648e-2", "12345678901.5",
    "9007199254740993e0", "9007199254740992e0", "1.2345678123456789E+12", "5e-04", '"u":"-3e5f-4c1e"',
    "{", "}", "{}", "[", "]", ",", ":", "null", "true", '"x"', '"1e5"', '"end":true', '"penstock.end":true',
    '"\\ud800"', '"\\\\ud800"', '"\\ud83d\\ude00"', " ", "\n", '"', "\\",
)  # fmt: skip
MESSAGES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map(lambda pieces: '{"id": 81' + "".join(pieces) + "}"),
)
BATCH = 100
"""Messages of one example: a job of Spark costs the same for one of them."""


@pytest.mark.timeout(600)
def test_what_is_no_json_is_refused_and_decimals_are_exact(spark: SparkSession) -> None:
    decoder = JsonRows(shape_of_ddl("id BIGINT, price DECIMAL(20,4), name STRING"))

    @fuzz(short=3, long=2_000)
    @given(st.lists(MESSAGES, min_size=BATCH, max_size=BATCH))
    def check(messages: list[str]) -> None:
        values = spark.createDataFrame([(message.encode(),) for message in messages], "value binary").coalesce(1)
        rows = decoder.decode(values).select("value", F.struct(*decoder.fields()).alias("row"), PROBLEM).collect()
        for message, row in zip(messages, rows, strict=True):
            if row[PROBLEM] is None:
                assert_exact(message, row["row"].asDict())

    check()


def assert_exact(message: str, row: dict[str, Any]) -> None:
    """Fail unless the row is what the message says."""
    data = json.loads(message, parse_float=Decimal)
    json.dumps(data, ensure_ascii=False, default=str).encode()  # fails on half of a surrogate pair
    assert isinstance(data, dict), message
    assert row["id"] == data.get("id"), message
    assert row["name"] == data.get("name"), message
    assert row["price"] == _decimal(data.get("price")), message


def _decimal(value: object) -> Decimal | None:
    try:
        return None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None
