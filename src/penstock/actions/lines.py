"""Event source for a file of lines, such as `failed_events.log`, in place of Kafka."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.actions.path import Decoder
from penstock.actions.reader import Received
from penstock.errors import RecordUndecodable, UsageError
from penstock.events.envelope import EventEnvelope
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.kafka.group_reader import Standing
from penstock.kafka.offsets import Offsets

MAX_LINE_BYTES = 64 * 1024 * 1024


class LinesReader:
    """Reader of a file's lines as records, up to the file's size at the start. The offset is the line number."""

    def __init__(self, path: Path) -> None:
        try:
            self._end = path.stat().st_size
            self._file = path.open("rb")
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read: {error.strerror}", hint="--events names a file of events"
            ) from error
        self._name = TopicName(path.name)
        self._number = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether all lines have been read."""
        return self._file.closed or self._file.tell() >= self._end

    def take(self, size: int, wait: float, receive: Callable[[list[ConsumerRecord]], Received]) -> Received:  # noqa: ARG002 - the interface's signature
        """Pass the next lines to `receive`."""
        records: list[ConsumerRecord] = []
        while len(records) < size and not self.is_exhausted:
            line = self._file.readline(MAX_LINE_BYTES)
            self._number += 1
            if line.strip():
                records.append(self._record(line))
        return receive(records)

    def commit(self, done: Offsets, *, wait: bool) -> None:
        """Do nothing: the file stays unchanged."""

    def standing(self) -> Standing:
        """Return an empty position: the number of remaining lines is unknown."""
        return Standing()

    def close(self, done: Offsets) -> None:  # noqa: ARG002 - as above
        """Close the file."""
        self._file.close()

    def _record(self, line: bytes) -> ConsumerRecord:
        return ConsumerRecord(_key(line), line, (), None, self._name, Partition(0), Offset(self._number), False)


class LineSource:
    """Event source for actions that process a file. Nothing is committed, so acknowledgements are ignored."""

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:
        """Do nothing: events from a file are done when `act` returns."""


class PutsNothingOff:
    """Wrapper of an action for events from a file. False counts as done, since no offset has to be held back."""

    def __init__(self, action: Any) -> None:  # noqa: ANN401 - any class with the methods
        self._action = action

    def act(self, event: EventEnvelope) -> object:
        """Return the action's result, or None instead of False."""
        answer = self._action.act(event)
        return None if answer is False else answer

    def close(self) -> None:
        """Close the action, if possible."""
        close = getattr(self._action, "close", None)
        if close is not None:
            close()


class LineDecoder:
    """Decoder of a file's lines. A message stored undecoded in a line is decoded again by `messages`."""

    def __init__(self, messages: Decoder) -> None:
        self._messages = messages

    def decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        """Return the event of a line, with the `meta` of the line."""
        line = _parsed(record.value)
        if line.message is None:
            return EventEnvelope.from_json(record.value)
        event = self._messages.decode(_message(line))
        if event is not None:
            event.meta = line.meta or {}
        return event

    def type_of(self, record: ConsumerRecord) -> str:
        """Return the event type named in the line, or `unreadable` for an invalid line."""
        try:
            return _parsed(record.value).event_type
        except RecordUndecodable:
            return "unreadable"


class _Kept(msgspec.Struct):
    key: str | None = None
    value: str | None = None


class _Line(msgspec.Struct):
    event_type: str
    event: dict[str, Any]
    meta: dict[str, Any] | None = None
    message: _Kept | None = None


def _parsed(line: bytes) -> _Line:
    try:
        return msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordUndecodable(f"the line is no event: {error}") from error


def _key(line: bytes) -> bytes | None:
    """Return the key of the event's message, so that events with equal keys stay in order."""
    try:
        key = ((_parsed(line).meta or {}).get("kafka") or {}).get("key")
    except RecordUndecodable:
        return None
    return key.encode() if isinstance(key, str) else None


def _message(line: _Line) -> ConsumerRecord:
    kept, place = line.message or _Kept(), (line.meta or {}).get("kafka") or {}
    try:
        key, value = (None if text is None else b64decode(text, validate=True) for text in (kept.key, kept.value))
        return ConsumerRecord(
            key,
            value,
            (),
            place.get("timestamp"),
            place["topic"],
            place["partition"],
            place["offset"],
            False,
        )
    except (NotBase64, ValueError, KeyError) as error:
        raise RecordUndecodable(f"the message that the line keeps cannot be read: {error}") from error
