from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.connect.snapshot import Moment, SourceColumn
from penstock.pipelines.verify.lake_values import plain_values
from penstock.pipelines.verify.values import from_database, from_lake, is_comparable, is_stored_as_usual

FAR = 253_402_300_800_000_000
"""The first moment of the year 10000, in microseconds."""
FORUM = -63_517_780_800_000_000
"""A noon in March of the year 44 before our era."""
DAYS = pa.array([2_932_896, FORUM // 86_400_000_000], pa.int32()).cast(pa.date32())


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
        (column("money"), "-12.30", Decimal("-12.3")),
        (column("interval"), "P1Y2M-3DT4H5M-6.5S", "P0Y14M-3DT4H4M53.500S"),
        (column("interval"), "PT0S", "P0Y0M0DT0H0M0S"),
        (column("hstore"), '{"b": null, "a": "1"}', '{"a":"1","b":null}'),
        (column("inet"), "10.0.0.1/32", "10.0.0.1"),
        (column("inet"), "::1/128", "0:0:0:0:0:0:0:1"),
        (column("cidr"), "10.0.0.0/8", "10.0.0.0/8"),
        (column("bit"), "0000000110101010", b"\xaa\x01"),
        (column("bit"), "1", True),
        (column("xml"), "<a/>", "<a/>"),
        (column("mood", is_enum=True), "happy", "happy"),
        (column("int4", is_array=True), "[1,null,[2]]", [1, None, [2]]),
        (column("numeric", is_array=True), "[1.50]", [Decimal("1.5")]),
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
        (column("money"), "1.00", Decimal("1.01")),
        (column("interval"), "P1M", "P0Y0M30DT0H0M0S"),
        (column("interval"), "P1D", "P0Y0M0DT24H0M0S"),
        (column("hstore"), '{"a": "null"}', '{"a":null}'),
        (column("inet"), "10.0.0.1/24", "10.0.0.1"),
        (column("bit"), "10", b"\x01"),
        (column("int4"), "3", "Ada"),
        (column("text", is_array=True), '["a",null]', ["a", ""]),
    ],
)
def test_values_that_differ_a_little_are_different(of: SourceColumn, text: str, value: Any) -> None:
    assert from_database(of, text) != from_lake(of, value, None)


@pytest.mark.parametrize(
    ("kind", "text", "stored"),
    [
        ("date", "2024-02-29", pa.array([date(2024, 2, 29)])),
        ("date", "9999-12-31", DAYS[:1]),
        ("date", "0044-03-15 BC", DAYS[1:]),
        ("timestamp", "2024-02-29 12:34:56.1", pa.array([datetime(2024, 2, 29, 12, 34, 56, 100000)])),  # noqa: DTZ001 - it has none
        ("timestamptz", "2024-02-29 12:00:00+02", pa.array([datetime(2024, 2, 29, 10, tzinfo=UTC)])),
        ("timestamp", "10000-01-01 00:00:00", pa.array([FAR]).cast(pa.timestamp("us"))),
        ("timestamptz", "0044-03-15 12:00:00+00 BC", pa.array([FORUM]).cast(pa.timestamp("us", "UTC"))),
        ("timestamp", "1969-12-31 23:59:59.999999", pa.array([-1]).cast(pa.timestamp("us"))),
    ],
)
def test_days_and_moments_of_all_years_are_compared(kind: str, text: str, stored: pa.Array) -> None:
    [value] = plain_values(stored)
    assert from_database(column(kind), text) == from_lake(column(kind), value, None)
    [later] = plain_values(stored.cast(pa.int32() if kind == "date" else pa.int64()))
    [moved] = plain_values(pa.array([later + 1]).cast(pa.int32() if kind == "date" else pa.int64()).cast(stored.type))
    assert from_database(column(kind), text) != from_lake(column(kind), moved, None)


def test_moments_in_arrays_are_compared() -> None:
    stored = pa.array([[FAR, None], None], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us", "UTC")))
    of = column("timestamptz", is_array=True)
    assert from_lake(of, plain_values(stored)[0], None) == from_database(of, '["10000-01-01T00:00:00+00:00",null]')
    assert plain_values(stored)[1] is None


def test_a_change_is_not_seen_if_it_is_behind_the_moment_or_its_transaction_was_open() -> None:
    moment = Moment(lsn=100, open=frozenset({7}), limit=9)
    assert moment.sees(99, 8)
    assert moment.sees(99, None)
    assert not moment.sees(99, 7)
    assert not moment.sees(99, 2**32 + 7)
    assert not moment.sees(99, 9)
    assert not moment.sees(100, 6)


def test_a_transaction_from_before_the_numbers_began_anew_is_not_open() -> None:
    assert Moment(lsn=100, open=frozenset(), limit=9).sees(99, 2**32 - 1)
    assert not Moment(lsn=100, open=frozenset(), limit=2**32 - 1).sees(99, 3)


def test_a_form_that_a_connector_can_be_set_to_instead_of_text_is_not_compared() -> None:
    assert is_stored_as_usual(column("interval"), pa.large_string())
    assert not is_stored_as_usual(column("interval"), pa.int64())
    assert not is_stored_as_usual(column("hstore"), pa.map_(pa.string(), pa.string()))


def test_what_the_lake_has_no_room_for_is_compared_by_what_it_states() -> None:
    assert from_database(column("numeric"), "NaN") == from_lake(column("numeric"), None, "NaN")
    assert from_database(column("timestamp"), "-infinity") == from_lake(column("timestamp"), None, "-infinity")
    assert from_database(column("date"), "infinity") != from_lake(column("date"), None, None)


def test_types_without_a_common_form_are_not_compared() -> None:
    assert not is_comparable(column("tsvector"))
    assert not is_comparable(column("bytea", is_array=True))
    assert is_comparable(column("mood", is_enum=True))
