"""The file of failed events: nothing that failed is lost, whatever it is like and whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from penstock.actions.decoding import EventDecoder
from penstock.actions.failed_events import FailedEvents
from penstock.actions.filter import Everything
from penstock.actions.lines import LineDecoder, LinesReader
from penstock.config import Settings
from penstock.errors import ActionFailed
from penstock.events.envelope import EventEnvelope
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.schemas import AvroCodec
from penstock.schemas.registry.memory import MemoryRegistry

DECODER = EventDecoder({"t": "thing"}, AvroCodec(MemoryRegistry()), Everything())


def message(value: bytes, offset: int = 0) -> ConsumerRecord:
    return ConsumerRecord(b"k", value, (), 1, TopicName("t"), Partition(0), Offset(offset), has_schema=False)


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def kept_in(directory: Path) -> FailedEvents:
    found = FailedEvents("p", directory, None, Settings())
    found.prepare()
    return found


def write(kept: FailedEvents, record: ConsumerRecord) -> None:
    kept.write(record, DECODER.decode(record), "thing", ValueError("no"))


def events_of(path: Path) -> list[EventEnvelope | None]:
    """The events of a file, as `--events` reads them."""
    decoder, reader = LineDecoder(DECODER), LinesReader(path)
    try:
        return reader.take(100, 0, lambda records: [decoder.decode(record) for record in records])
    finally:
        reader.close({})


@pytest.mark.parametrize("depth", [1, 400, 600, 900])
def test_an_event_of_any_depth_that_was_decoded_is_kept_and_comes_back(tmp_path: Path, depth: int) -> None:
    kept = kept_in(tmp_path)
    write(kept, message(nested(depth)))
    (event,) = events_of(kept.path)
    assert event is not None
    inner: object = event.event.data
    for _ in range(depth):
        assert isinstance(inner, dict)
        inner = inner["a"]
    assert inner == 1


def test_a_line_that_the_disk_takes_in_parts_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, real = kept_in(tmp_path), os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:10]))
    write(kept, message(b'{"n": 1}'))
    assert json.loads(kept.path.read_text())["event"] == {"n": 1}


def test_a_disk_that_fills_up_within_a_line_ends_the_pipeline_and_spoils_no_later_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, real = kept_in(tmp_path), os.write
    room = [10]

    def until_full(handle: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", until_full)
        with pytest.raises(ActionFailed, match="No space left"):
            write(kept, message(b'{"n": 1}'))
    write(kept_in(tmp_path), message(b'{"n": 2}'))
    torn, whole = kept.path.read_text().splitlines()
    assert len(torn) == 10
    assert json.loads(whole)["event"] == {"n": 2}
