from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.actions.failed_events import FailedEvents
from penstock.actions.lines import LineDecoder, LinesReader
from penstock.config import load_settings
from penstock.errors import ActionFailed, RecordUndecodable, UsageError
from penstock.events.dead_letter import dead_letter_headers
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import Event
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName


def message(offset: int, value: bytes = b"v", key: bytes = b"k") -> ConsumerRecord:
    return ConsumerRecord(key, value, (), 7, TopicName("t"), Partition(2), Offset(offset), has_schema=False)


class Decoded:
    """A decoder that notes what it gets."""

    def __init__(self) -> None:
        self.got: list[ConsumerRecord] = []

    def decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        self.got.append(record)
        return EventEnvelope("again", Event({}), None, record)

    def type_of(self, record: ConsumerRecord) -> str:
        del record
        return "any"


@pytest.fixture
def failed(tmp_path: Path) -> FailedEvents:
    return FailedEvents("p", tmp_path / "p", None, load_settings(env={}).settings)


def test_a_failed_event_is_written_as_datahub_does_with_error_time_and_origin_after_it(failed: FailedEvents) -> None:
    failed.prepare()
    record = message(5)
    failed.write(record, EventEnvelope("E", Event({"a": "ä\n"}), None, record), "E", ValueError("no"))
    (line,) = failed.path.read_text().splitlines()
    assert line.startswith('{ "event_type": "E", "event": {"a":"ä\\n"}, "meta": {"kafka":{')
    told = json.loads(line)
    assert told["error"] == {"code": "action.raised", "message": "ValueError: no"}
    assert told["origin"] == "t/2/5"
    assert datetime.fromisoformat(told["failed_at"]).tzinfo is not None
    assert EventEnvelope.from_json(line).event.a == "ä\n"


def test_events_of_a_file_come_out_as_they_went_in(failed: FailedEvents) -> None:
    failed.prepare()
    for number in range(3):
        record = message(number)
        failed.write(record, EventEnvelope("E", Event({"n": number}), None, record), "E", ValueError("no"))
    reader, decoder = LinesReader(failed.path), LineDecoder(Decoded())
    records = reader.take(2, 0, list) + reader.take(10, 0, list)
    events = [decoder.decode(record) for record in records]
    assert [(event.event_type, event.event.n, event.meta["kafka"]["offset"]) for event in events if event] == [
        ("E", 0, 0),
        ("E", 1, 1),
        ("E", 2, 2),
    ]
    assert reader.is_exhausted
    assert [record.key for record in records] == [b"k"] * 3
    reader.close({})


def test_a_message_that_could_not_be_decoded_is_kept_whole_and_decoded_again(failed: FailedEvents) -> None:
    failed.prepare()
    failed.write(message(5, b"\0\xff", b"\xfe"), None, "PlatformEvent_v1", RecordUndecodable("garbage"))
    reader, decoded = LinesReader(failed.path), Decoded()
    (record,) = reader.take(10, 0, list)
    event = LineDecoder(decoded).decode(record)
    assert [(each.key, each.value, str(each.origin)) for each in decoded.got] == [(b"\xfe", b"\0\xff", "t/2/5")]
    assert event is not None
    assert event.meta["kafka"]["offset"] == 5
    reader.close({})


@pytest.mark.parametrize("line", [b"no json", b"{}", b'{"event_type": "E", "event": 5}', b"\xff"])
def test_a_line_that_is_no_event_is_told(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "file").write_bytes(b"\n" + line + b"\n")
    reader, decoder = LinesReader(tmp_path / "file"), LineDecoder(Decoded())
    (record,) = reader.take(10, 0, list)
    assert str(record.origin) == "file/0/2"
    assert decoder.type_of(record) == "unreadable"
    with pytest.raises(RecordUndecodable):
        decoder.decode(record)
    reader.close({})


def test_lines_that_are_added_while_a_file_is_read_are_left_for_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one\n")
    reader = LinesReader(file)
    file.write_bytes(b"one\ntwo\n")
    assert len(reader.take(10, 0, list)) == 1
    assert reader.is_exhausted
    reader.close({})


def test_a_file_or_a_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absent"):
        LinesReader(tmp_path / "absent")
    (tmp_path / "in_the_way").write_text("")
    with pytest.raises(ActionFailed, match="in_the_way"):
        FailedEvents("p", tmp_path / "in_the_way" / "p", None, load_settings(env={}).settings).prepare()


def test_a_dead_letter_keeps_the_message_s_own_headers_and_replaces_ours() -> None:
    theirs = [("mine", b"1"), ("penstock.error.code", b"old"), ("mine", None)]
    headers = dead_letter_headers(
        theirs, code="c", message="m" * 5000, pipeline="p", failed_at=datetime(2026, 1, 1, tzinfo=UTC), origin="t/2/5"
    )
    assert headers[:2] == [("mine", b"1"), ("mine", None)]
    ours = dict(headers[2:])
    assert (ours["penstock.error.code"], ours["penstock.origin"]) == (b"c", b"t/2/5")
    assert (ours["penstock.failed_at"], len(ours["penstock.error.message"])) == (b"2026-01-01T00:00:00.000Z", 1000)  # type: ignore[arg-type]
