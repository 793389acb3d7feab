from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.deadletters.box import Wanted
from penstock.deadletters.counts import count_letters
from penstock.deadletters.letter import DeadLetter, as_letter, parse_place, place_given
from penstock.deadletters.replay import Order, replayed
from penstock.errors import UsageError
from penstock.events.dead_letter import dead_letter_headers, header_text
from penstock.events.record import ConsumerRecord, Headers, Offset, Origin, Partition, TopicName


def record(offset: int = 7, *, code: str = "record.invalid", own: Headers = (), hour: int = 12) -> ConsumerRecord:
    headers = dead_letter_headers(
        own,
        code=code,
        message="User_ID: 42 is not a string",
        pipeline="events",
        failed_at=datetime(2026, 1, 31, hour, tzinfo=UTC),
        origin=f"events/0/{offset}",
    )
    place = (TopicName("events.dead"), Partition(0), Offset(offset))
    return ConsumerRecord(b"k", b"v", headers, 0, *place, has_schema=False)


def letter(offset: int = 7, *, code: str = "record.invalid", own: Headers = (), hour: int = 12) -> DeadLetter:
    found = as_letter(record(offset, code=code, own=own, hour=hour))
    assert found is not None
    return found


def test_a_letter_is_read_from_its_headers() -> None:
    found = letter(own=[("trace", b"1"), ("none", None)])
    assert (str(found.place), str(found.origin)) == ("events.dead/0/7", "events/0/7")
    assert (found.pipeline, found.code, found.message) == ("events", "record.invalid", "User_ID: 42 is not a string")
    assert found.time == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert found.own_headers == (("trace", b"1"), ("none", None))


def test_the_origin_that_a_record_had_itself_stays_with_it() -> None:
    twice = letter(own=[("penstock.origin", b"raw/0/5"), ("penstock.error.code", b"old")])
    assert (str(twice.origin), twice.code) == ("events/0/7", "record.invalid")
    assert twice.own_headers == (("penstock.origin", b"raw/0/5"),)


def test_long_text_is_cut_between_characters() -> None:
    assert header_text("ä" * 600) == "ä".encode() * 500
    assert header_text("a" + "ä" * 600) == b"a" + "ä".encode() * 499
    assert header_text("\ud800") == b"?"


def test_a_record_without_an_error_is_no_letter() -> None:
    assert as_letter(ConsumerRecord(None, b"v", [("x", b"1")], 0, "t", 0, 0, has_schema=False)) is None


def test_a_replayed_record_is_as_it_was_and_tells_of_its_letter() -> None:
    again = letter(own=[("trace", b"1"), ("penstock.replayed_from", b"events.dead/0/1"), ("penstock.client", b"app")])
    sent = replayed(again, Order(lambda: iter([again])))
    assert (sent.topic, sent.key, sent.value) == ("events", b"k", b"v")
    assert sent.headers == [("trace", b"1"), ("penstock.replayed_from", b"events.dead/0/7")]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b'{"User_ID": "u-1"}', b"u-1"),
        (b'{"User_ID": 7}', b"7"),
        (b'{"User_ID": null}', None),
        (b"{}", None),
        (b"[1]", None),
        (b"{broken", None),
        (None, None),
    ],
)
def test_a_letter_without_a_key_gets_one_from_its_value(value: bytes | None, key: bytes | None) -> None:
    keyless = replace(letter(), key=None, value=value)
    assert replayed(keyless, Order(lambda: iter([keyless]), key_field="User_ID")).key == key
    assert replayed(letter(), Order(lambda: iter([]), key_field="User_ID")).key == b"k"


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (Wanted(), True),
        (Wanted(place=Origin(TopicName("events"), Partition(0), Offset(7))), True),
        (Wanted(place=Origin(TopicName("events.dead"), Partition(0), Offset(7))), True),
        (Wanted(place=Origin(TopicName("events"), Partition(0), Offset(8))), False),
        (Wanted(pipeline="events"), True),
        (Wanted(pipeline="orders"), False),
        (Wanted(code="record"), True),
        (Wanted(code="rec"), False),
        (Wanted(code="record.invalid", topic="events"), True),
        (Wanted(topic="orders"), False),
        (Wanted(since=datetime(2026, 1, 31, 12, tzinfo=UTC)), True),
        (Wanted(since=datetime(2026, 1, 31, 13, tzinfo=UTC)), False),
    ],
)
def test_letters_are_chosen_by_place_pipeline_code_topic_and_time(wanted: Wanted, matches: bool) -> None:
    assert wanted.matches(letter()) is matches


def test_letters_are_counted_by_reason_with_their_first_and_last_time() -> None:
    letters = [letter(1, hour=12), letter(2, hour=9), letter(3, code="record.undecodable", hour=15)]
    groups, newest = count_letters(letters, lambda each: each.place.offset == 2, newest=2)
    assert [(group.code, group.count, group.replayed, group.first[11:13], group.last[11:13]) for group in groups] == [
        ("record.invalid", 2, 1, "09", "12"),
        ("record.undecodable", 1, 0, "15", "15"),
    ]
    assert [each.place.offset for each in newest] == [3, 1]


def test_letters_of_one_record_count_as_one_record() -> None:
    letters = [letter(1), letter(1), letter(2)]
    letters += [replace(each, origin=Origin(each.origin.topic, Partition(-1), Offset(-1))) for each in letters[1:]]
    [group], _ = count_letters(letters, lambda _: False, newest=0)
    assert (group.count, group.records) == (5, 4), "what the collector rejected never was a record of a topic"


@pytest.mark.parametrize("text", ["", "events", "events/0", "events/x/1", "/0/1", "events/0/1/2"])
def test_a_place_has_three_parts(text: str) -> None:
    assert parse_place(text) is None
    with pytest.raises(UsageError, match="TOPIC/PARTITION/OFFSET"):
        place_given(text)
