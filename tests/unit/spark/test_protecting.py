"""Rows whose columns must not be seen, and what sinks make of them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import QueryFailed
from penstock.spark.changes.history_sink import HistorySink
from penstock.spark.changes.mirror_sink import MirrorSink
from penstock.spark.protecting import Treatment, protecting
from tests.changes import Changes, change

SECRET = b"a secret of the tests, longer than one block of SHA-256 so that it is hashed before it is used"


def treated(**treatments: Treatment) -> Callable[[str], Treatment | None]:
    return treatments.get


def hashed(text: str) -> str:
    return hmac.new(SECRET, text.encode(), hashlib.sha256).hexdigest()


def mirror_of(spark: SparkSession, directory: Path, **treatments: Treatment) -> Changes:
    mirror = Changes(spark, directory, MirrorSink)
    mirror.transform = protecting(treated(**treatments), SECRET)
    return mirror


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("Ada", "string", "Ada"),
        (7, "int", "7"),
        (True, "boolean", "true"),
        (Decimal("1.50"), "decimal(10,2)", "1.50"),
        (date(2026, 1, 2), "date", "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "timestamp", "2026-01-02 03:04:05"),
        (bytearray(b"raw"), "binary", "raw"),
        (["a", "b"], "array<string>", '["a","b"]'),
        (None, "string", None),
    ],
)
def test_values_of_every_type_are_hashed_as_their_text(
    spark: SparkSession, value: Any, kind: str, text: str | None
) -> None:
    rows = spark.createDataFrame([(value,)], f"secret {kind}")
    [(found,)] = protecting(treated(secret="hash"), SECRET)(rows).collect()
    assert found == (None if text is None else hashed(text))


def test_a_mirror_by_a_hashed_key_follows_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    mirror = mirror_of(spark, tmp_path, id="hash", name="mask", note="drop")
    mirror.write(change("c", 1, "Ada", note="secret", lsn=1), change("c", 2, "Grace", lsn=2))
    mirror.write(
        change("u", 1, None, lsn=3, unavailable=["note"], outside={"note": "NaN", "other": "NaN"}),
        change("d", 2, lsn=4),
    )
    assert mirror.rows("id", "name", "_cdc.outside") == [(hashed("1"), None, {"other": "NaN"})]
    assert "note" not in mirror.sink._table.columns


def test_infinite_keys_that_are_hashed_stay_apart(spark: SparkSession, tmp_path: Path) -> None:
    mirror = mirror_of(spark, tmp_path, id="hash")
    told = [{"outside": {"id": text}} for text in ("infinity", "-infinity")]
    mirror.write(*(change("c", None, "x", lsn=1, **each) for each in told), columns="id timestamp, name string")
    assert mirror.rows("id", order="id") == sorted((hashed(text),) for text in ("infinity", "-infinity"))


def test_types_that_a_column_had_at_other_times_are_protected_too(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x", "y")], "price int, price__string string, prices string")
    assert protecting(treated(price="drop"), SECRET)(rows).columns == ["prices"]


def test_a_message_key_with_a_protected_value_is_not_handed_on(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 1 AS id, 2 AS other, named_struct('keys', array('id'), 'unavailable', CAST(NULL AS array<string>), "
        "'outside', CAST(NULL AS map<string, string>)) AS _cdc, named_struct('key', CAST('1' AS binary)) AS _kafka"
    )
    for column, key in (("id", None), ("other", bytearray(b"1"))):
        [row] = protecting(treated(**{column: "hash"}), SECRET)(rows).collect()
        assert row["_kafka"]["key"] == key


@pytest.mark.parametrize("sink", [MirrorSink, HistorySink])
def test_rows_whose_key_is_masked_are_refused_and_not_mixed_up(
    spark: SparkSession, tmp_path: Path, sink: type[MirrorSink | HistorySink]
) -> None:
    table = Changes(spark, tmp_path, sink)
    table.write(change("c", 1, "Ada", lsn=1))
    table.transform = protecting(treated(id="mask"), SECRET)
    with pytest.raises(QueryFailed, match="the changes have no key"):
        table.write(change("c", 2, "Grace", lsn=2))
