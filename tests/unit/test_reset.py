from datetime import UTC, datetime

import pytest

from penstock.errors import UsageError
from penstock.events.record import Offset
from penstock.kafka.reset import AtOffset, AtTime, Earliest, Latest, Shift, Target, destination, parse_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("earliest", Earliest()),
        ("latest", Latest()),
        ("100", AtOffset(100)),
        ("+10", Shift(10)),
        ("-10", Shift(-10)),
        ("2026-01-31T12:00Z", AtTime(datetime(2026, 1, 31, 12, tzinfo=UTC))),
    ],
)
def test_a_target_is_read_as_people_write_it(text: str, target: Target) -> None:
    assert parse_target(text) == target


def test_an_age_is_a_target_too() -> None:
    assert isinstance(parse_target("2h ago"), AtTime)


@pytest.mark.parametrize("text", ["", "first", "++3", "1.5", "2026-99-01"])
def test_what_is_no_target_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(UsageError, match="nowhere a group can go") as refused:
        parse_target(text)
    assert "earliest" in refused.value.hint


def went_to(target: Target, committed: int | None = 50) -> int:
    place = None if committed is None else Offset(committed)
    return destination(target, first=Offset(20), end=Offset(100), committed=place, at_time=Offset(70))


def test_each_target_leads_to_its_offset() -> None:
    assert went_to(Earliest()) == 20
    assert went_to(Latest()) == 100
    assert went_to(AtTime(datetime.now(UTC))) == 70
    assert went_to(AtOffset(33)) == 33
    assert went_to(Shift(-10)) == 40
    assert went_to(Shift(10)) == 60


def test_nobody_goes_before_the_first_or_past_the_last_record() -> None:
    assert went_to(AtOffset(5)) == 20
    assert went_to(AtOffset(500)) == 100
    assert went_to(Shift(-1000)) == 20
    assert went_to(Shift(1000)) == 100
