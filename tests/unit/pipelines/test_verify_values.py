from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.connect.snapshot import SourceColumn
from penstock.pipelines.verify.values import from_database, from_lake, is_comparable

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


def column(kind: str, *, is_array: bool = False, is_enum: bool = False) -> SourceColumn:
    return SourceColumn("c", kind, is_array, is_enum)


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (column("int8"), "3000000000", 3000000000),
        (column("numeric"), "12.3400", Decimal("12.34")),
        (column("numeric"), "1e+30", "1" + "0" * 30),
        (column("numeric"), "0.000", Decimal("0E-10")),
        (column("numeric"), "NaN", "NaN"),
        (column("bpchar"), "ab", "ab   "),
        (column("float4"), "1.1", 1.100000023841858),
        (column("float8"), "100000", 100000.0),
        (column("bool"), "true", True),
        (column("bytea"), "00ff", b"\x00\xff"),
        (column("date"), "2024-02-29", date(2024, 2, 29)),
        (column("timestamp"), "2024-02-29 12:34:56.1", datetime(2024, 2, 29, 12, 34, 56, 100000)),  # noqa: DTZ001 - it has none
        (column("timestamptz"), "2024-02-29 12:00:00+02", datetime(2024, 2, 29, 10, tzinfo=UTC)),
        (column("mood", is_enum=True), "happy", "happy"),
        (column("int4", is_array=True), "[1,null,[2]]", [1, None, [2]]),
        (column("numeric", is_array=True), "[1.50]", [Decimal("1.5")]),
        (
            column("timestamptz", is_array=True),
            '["2024-02-29T12:00:00+00:00"]',
            [datetime(2024, 2, 29, 12, tzinfo=UTC)],
        ),
    ],
)
def test_values_that_mean_the_same_are_the_same(of: SourceColumn, text: str, value: Any) -> None:
    assert from_database(of, text) == from_lake(of, value, None)


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (column("int8"), "1", 2),
        (column("numeric"), "1.10", Decimal("1.11")),
        (column("numeric"), "1" * 40, "1" * 39 + "2"),
        (column("text"), "", None),
        (column("float8"), "0.1", 0.10000000000000002),
        (column("timestamptz"), "2024-02-29 12:00:00+00", datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)),
        (column("text", is_array=True), '["a",null]', ["a", ""]),
    ],
)
def test_values_that_differ_a_little_are_different(of: SourceColumn, text: str, value: Any) -> None:
    assert from_database(of, text) != from_lake(of, value, None)


def test_what_the_lake_has_no_room_for_is_compared_by_what_it_states() -> None:
    assert from_database(column("numeric"), "NaN") == from_lake(column("numeric"), None, "NaN")
    assert from_database(column("timestamp"), "-infinity") == from_lake(column("timestamp"), None, "-infinity")
    assert from_database(column("date"), "infinity") != from_lake(column("date"), None, None)


def test_types_without_a_common_form_are_not_compared() -> None:
    assert not is_comparable(column("tsvector"))
    assert not is_comparable(column("bytea", is_array=True))
    assert is_comparable(column("mood", is_enum=True))
