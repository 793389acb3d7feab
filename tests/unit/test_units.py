from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.units import (
    parse_duration_ms,
    parse_limit_bytes,
    parse_limit_ms,
    parse_rate,
    parse_size,
    parse_time,
    show_duration,
    show_rate,
    show_size,
)
from penstock.errors import UsageError

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "size"),
    [("10GB", 10**10), ("1.5 MB", 1_500_000), ("512KiB", 524_288), ("100", 100), ("3kb", 3000), ("7B", 7)],
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "duration"), [("7d", 604_800_000), ("36h", 129_600_000), ("1.5s", 1500), ("2w", 1_209_600_000)]
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration: int) -> None:
    assert parse_duration_ms(text) == duration


def test_a_limit_may_be_none_at_all() -> None:
    assert parse_limit_ms("forever") == -1
    assert parse_limit_bytes("unlimited") == -1
    assert parse_limit_ms("7d") == 604_800_000


def test_a_rate_is_a_size_per_second() -> None:
    assert parse_rate("50MB/s") == 50_000_000


@pytest.mark.parametrize("text", ["", "GB", "-5MB", "10 parsecs", "1e3", "0x10"])
def test_what_is_not_a_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size") as refused:
        parse_size(text)
    assert "10GB" in refused.value.hint


def test_a_rate_without_its_second_is_refused() -> None:
    with pytest.raises(UsageError, match="'50MB' is not a rate"):
        parse_rate("50MB")


def test_a_duration_needs_its_unit() -> None:
    with pytest.raises(UsageError, match="'7' is not a duration"):
        parse_duration_ms("7")


def test_a_time_is_iso_or_an_age() -> None:
    assert parse_time("2026-01-31T12:00Z") == NOON
    assert parse_time("2026-01-31T13:00+01:00") == NOON
    assert parse_time("2h ago", now=NOON) == datetime(2026, 1, 31, 10, tzinfo=UTC)


def test_a_time_without_a_zone_is_local() -> None:
    assert parse_time("2026-01-31T12:00") == datetime(2026, 1, 31, 12).astimezone(UTC)


@pytest.mark.parametrize("text", ["yesterday", "31.1.2026", "2026-13-01", ""])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_time(text)


def test_numbers_are_shown_for_people() -> None:
    assert show_size(0) == "0 B"
    assert show_size(1_500_000) == "1.5 MB"
    assert show_size(10**10) == "10 GB"
    assert show_rate(38_200_000) == "38.2 MB/s"
    assert [show_duration(ms) for ms in (604_800_000, 129_600_000, 1500, 0)] == ["7d", "36h", "1,500ms", "0ms"]


@given(st.integers(min_value=0, max_value=10**6))
def test_a_shown_duration_reads_back_as_itself(seconds: int) -> None:
    assert parse_duration_ms(show_duration(seconds * 1000).replace(",", "")) == seconds * 1000
