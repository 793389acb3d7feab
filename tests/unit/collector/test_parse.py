import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.collector.config import PRODUCT_EVENT
from penstock.collector.parse import Rejected, parse_body
from penstock.collector.refusals import NoEvents, NotJson, TooLarge, TooManyEvents, Unsupported
from penstock.collector.shape import EventShape
from penstock.schemas import Schema
from penstock.schemas.avro.model import RecordType
from tests.bounded import within

ROOT = Schema.from_file(PRODUCT_EVENT).type
assert isinstance(ROOT, RecordType)
SHAPE = EventShape(ROOT, key_field="User_ID", time_field="Server_Time")

GOOD = json.dumps({"Event_Type": "ListingView", "Event_Version": "1", "User_ID": "u-1"}).encode()
BAD = b'{"Event_Type": 5}'
JSON = b"application/json"
LINES = b"application/x-ndjson"


def fits(body: bytes, content_type: bytes = JSON) -> list[bool]:
    return [not isinstance(event, Rejected) for event in parse_body(body, content_type, SHAPE, 100).events]


def test_one_object_is_one_event() -> None:
    assert parse_body(GOOD, JSON, SHAPE, 100).single
    assert fits(b" \n\t" + GOOD) == [True]


def test_an_array_of_one_is_a_batch() -> None:
    assert not parse_body(b"[" + GOOD + b"]", JSON, SHAPE, 100).single


def test_events_of_an_array_are_judged_one_by_one_in_order() -> None:
    assert fits(b"[" + b",".join([GOOD, BAD, GOOD, b"7"]) + b"]") == [True, False, True, False]


def test_lines_are_judged_one_by_one_and_empty_ones_are_skipped() -> None:
    assert fits(b"\n".join([GOOD, b"", BAD, b"  ", GOOD + b"\r", b"{nope"]), LINES) == [True, False, True, False]


def test_a_rejected_event_is_kept_as_it_came() -> None:
    rejected = parse_body(b"[" + GOOD + b', { "Event_Type" : 5 }]', JSON, SHAPE, 100).events[1]
    assert isinstance(rejected, Rejected)
    assert rejected.text == b'{ "Event_Type" : 5 }'


@pytest.mark.parametrize("body", [b"", b"  ", b"[]", b"[ ]"])
def test_a_body_without_events_is_refused(body: bytes) -> None:
    with pytest.raises(NoEvents):
        parse_body(body, JSON, SHAPE, 100)


@pytest.mark.parametrize("body", [b"nope", b"{", b"[1,", b"[" * 100_000, b"\xff", GOOD + GOOD, b"[" + GOOD + b"] x"])
def test_a_body_that_is_no_json_is_refused_whole(body: bytes) -> None:
    with pytest.raises(NotJson):
        parse_body(body, JSON, SHAPE, 100)


@pytest.mark.parametrize("text", [GOOD, BAD, b"1"])
def test_too_many_events_are_refused_good_or_bad(text: bytes) -> None:
    with pytest.raises(TooLarge):
        parse_body(b"[" + b",".join([text] * 101) + b"]", JSON, SHAPE, 100)
    with pytest.raises(TooLarge):
        parse_body(b"\n".join([text] * 101), LINES, SHAPE, 100)


def test_too_many_events_are_refused_before_they_are_looked_at_closely() -> None:
    body = b"[" + b",".join([b"1"] * 1_000_000) + b"]"
    began = time.thread_time()
    with pytest.raises(TooLarge):
        parse_body(body, JSON, SHAPE, 100)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    "content_type", [JSON, b"Application/JSON; charset=UTF-8", b'application/json;charset="utf-8"']
)
def test_json_in_utf_8_is_understood(content_type: bytes) -> None:
    assert fits(GOOD, content_type) == [True]


@pytest.mark.parametrize(
    "content_type", [b"", b"text/plain", b"application/x-www-form-urlencoded", b"application/json; charset=latin-1"]
)
def test_other_content_types_are_refused(content_type: bytes) -> None:
    with pytest.raises(Unsupported):
        parse_body(GOOD, content_type, SHAPE, 100)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode), st.sampled_from([JSON, LINES]))
def test_any_bytes_are_events_rejected_or_refused(body: bytes, content_type: bytes) -> None:
    try:
        parsed = parse_body(body, content_type, SHAPE, 100)
    except (NotJson, NoEvents):
        return
    assert all(isinstance(event, Rejected) for event in parsed.events)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["Event_Type", "Event_Version", "User_ID", "x"]), st.text() | st.integers())
    )
)
def test_any_json_is_judged_event_by_event(events: list[dict[str, object]]) -> None:
    body = json.dumps(events).encode()
    wanted = [
        event.keys() == {"Event_Type", "Event_Version", "User_ID"} and all(isinstance(v, str) for v in event.values())
        for event in events
    ]
    if events:
        assert fits(body) == wanted


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"[" + b",".join([b"{}"] * 1_000_000) + b"]", JSON),
        (b"{}\n" * 1_000_000, LINES),
        (b"{}" * 1_000_000, LINES),
        (b"[" + b",".join([b"0"] * 2_000_000) + b"]", JSON),
        (b"0\n" * 2_000_000, LINES),
    ],
)
def test_events_are_counted_before_they_are_decoded(body: bytes, content_type: bytes) -> None:
    tags = {"type": "array", "items": ["null", "string"]}
    node = {"type": "record", "name": "E", "fields": [{"name": "tags", "type": tags, "default": []}]}
    root = Schema.from_text(json.dumps(node)).type
    assert isinstance(root, RecordType)
    shape = EventShape(root)

    def refused() -> int:
        with pytest.raises(TooManyEvents) as caught:
            parse_body(body, content_type, shape, 5_000)
        return caught.value.events

    assert within(3, refused) >= 1_000_000


def test_braces_inside_events_are_no_events() -> None:
    event = b'{"Event_Type": "{{{{", "Event_Version": "{", "User_ID": "u"}'
    for body, content_type in ((b"[" + b",".join([event] * 100) + b"]", JSON), (event * 100, LINES)):
        assert len(parse_body(body, content_type, SHAPE, 100).events) == 100
