from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from penstock.cli.record_view import json_line, pretty_line
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.schemas.to_json import to_json


def record(value: Any, *, has_schema: bool = False, key: Any = None) -> ConsumerRecord:
    headers = [("trace", b"\xff")]
    return ConsumerRecord(key, value, headers, 0, TopicName("orders"), Partition(1), Offset(7), has_schema)


def shown(value: Any, **given: Any) -> str:
    return pretty_line(record(value, **given)).split("[/]  ", 3)[-1]


def test_a_record_with_a_schema_is_shown_as_pairs_of_name_and_value() -> None:
    value = {"name": "Ann", "price": Decimal("1.50"), "day": dt.date(2026, 1, 31), "tags": ["a"], "note": None}
    assert shown(value, has_schema=True) == (
        '[green]name[/]="Ann" [green]price[/]=1.50 [green]day[/]=2026-01-31 [green]tags[/]=["a"] [green]note[/]=null'
    )


@pytest.mark.parametrize(
    ("value", "expected"), [(b"plain", "plain"), (b"\xff", r"b'\xff'"), (None, "[dim](tombstone)[/]"), (b"", "")]
)
def test_legacy_data_and_tombstones_are_shown_raw(value: bytes | None, expected: str) -> None:
    assert shown(value) == expected


def test_foreign_text_can_neither_colour_nor_move_the_terminal() -> None:
    line = pretty_line(record(b"[red]\x1b[2J\x9b", key="\r"))
    assert line.endswith(r"  [yellow]\r[/]  b'\[red]\x1b[2J\x9b'")
    assert shown({"a": "\x9b2J"}, has_schema=True) == r'[green]a[/]="\x9b2J"'


def test_time_and_origin_stand_first() -> None:
    assert "  [cyan]orders/1/7[/]  [dim]-[/]  " in pretty_line(record(b""))


def test_a_json_line_has_everything_in_forms_that_json_knows() -> None:
    line = json.loads(json_line(record({"at": dt.datetime(2026, 1, 31, tzinfo=dt.UTC)}, has_schema=True, key=b"k")))
    assert line == {
        "topic": "orders",
        "partition": 1,
        "offset": 7,
        "time": "1970-01-01T00:00:00.000+00:00",
        "key": "k",
        "value": {"at": "2026-01-31T00:00:00+00:00"},
        "headers": [["trace", {"base64": "/w=="}]],
        "has_schema": True,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x00\xff", "\x00\xff"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (1.5, 1.5),
        (True, True),
        (dt.time(12, 30), "12:30:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [b"x", {"b": Decimal(1)}]}, {"a": ["x", {"b": "1"}]}),
    ],
)
def test_values_are_put_into_json_as_avros_own_encoding_has_them(value: object, expected: object) -> None:
    assert to_json(value) == expected
