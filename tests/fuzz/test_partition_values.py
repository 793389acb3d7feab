"""No value that a client chooses for a folder stops, doubles, hides or changes a row, for any reader of the table."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.fuzz.budget import fuzz
from tests.fuzz.partition_tables import TYPES, Format, PartitionedTable, Row, as_read, names_a_folder

NASTY = [
    *["", "__HIVE_DEFAULT_PARTITION__", "null", "NULL", ".", "..", "_hidden", ".hidden", "_delta_log", " ", " x "],
    *["a/b", "a%2Fb", "%", "%zz", "a=b", "a b", "a+b", "~", "a~b", "Zürich", "Zu\u0308rich", "😀", "\ud7ff", "\uffff"],
    *[
        "\ufeffx",
        "\u2028",
        "\x85",
        "\n",
        "\r\n",
        "\t",
        "\x7f",
        "\x00",
        "a\x00b",
        "'",
        '"',
        "`",
        "\\",
        "C:\\",
        "*?",
        "[x]",
    ],
    *["{y}", "$1", "${x}", "<>", "|", "&amp;", "^", "#", ";", ",", "@", "!", "01", "1.0", "true", "2026-11-16", "NaN"],
    *["x" * 250, "x" * 251, "x" * 255, "ü" * 125, "ü" * 126, "/" * 83, "/" * 84, "😀" * 62, "😀" * 63, "x" * 5000],
]
CHARACTERS = st.characters(codec="utf-8")
TEXTS = st.one_of(
    st.sampled_from(NASTY).map(str.encode),
    st.text(CHARACTERS, max_size=12).map(str.encode),
    st.text(CHARACTERS, min_size=60, max_size=260).map(str.encode),
    st.binary(max_size=6),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "decimal(9,2)": st.decimals(Decimal("-9999999.99"), Decimal("9999999.99"), places=2, allow_nan=False),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
}
ROWS = st.lists(st.fixed_dictionaries({name: st.none() | VALUES[kind] for name, kind in TYPES.items()}), max_size=20)
FOLDERS = st.one_of(
    st.just(("kind",)), st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3, unique=True).map(tuple)
)
PLAIN = {
    "second": b"s",
    "day": date(2026, 1, 1),
    "at": datetime(2026, 1, 1, tzinfo=UTC),
    "price": Decimal(1),
    "number": 1,
    "flag": True,
}


def check(spark: SparkSession, table_format: Format, folders: tuple[str, ...], batches: list[list[Row]]) -> None:
    """Write batches, and compare what every reader finds with what was written, before and after compaction."""
    with tempfile.TemporaryDirectory() as directory:
        table = PartitionedTable(spark, Path(directory), table_format, folders)
        expected = {}
        number = 0
        for batch in batches:
            rows = [{**row, "id": number + at} for at, row in enumerate(batch)]
            number += len(rows)
            good = [row for row in rows if all(names_a_folder(table_format, name, row[name]) for name in folders)]
            assert table.write(rows) == {row["id"] for row in rows} - {row["id"] for row in good}
            expected |= {row["id"]: tuple(as_read(row[name]) for name in folders) for row in good}
        for reader, found in table.readers():
            assert found == expected, reader
        table.compact()
        for reader, found in table.readers():
            assert found == expected, f"{reader}, after compaction"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_values_that_are_known_to_be_difficult(spark: SparkSession, table_format: Format) -> None:
    rows = [{**PLAIN, "kind": text.encode()} for text in NASTY]
    more = [{**PLAIN, "kind": kind} for kind in (None, b"\xff", b"\xfe", b"\xc3", b"good")]
    check(spark, table_format, ("kind",), [rows, [*more, *rows]])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("table_format", ["parquet", "delta"])
@given(folders=FOLDERS, batches=st.lists(ROWS, min_size=1, max_size=2))
@settings(fuzz(2, 1500), phases=[Phase.generate])  # to make an example smaller takes Spark minutes
def test_arbitrary_values_of_every_type(
    spark: SparkSession, table_format: Format, folders: tuple[str, ...], batches: list[list[Row]]
) -> None:
    check(spark, table_format, folders, [[{**PLAIN, "kind": b"good"}, *batch] for batch in batches])
