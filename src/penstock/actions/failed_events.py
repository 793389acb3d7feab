"""Failed events, stored in `failed_events.log` and the dead-letter topic before their offsets are committed."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from penstock.actions.retries import told
from penstock.config import Settings
from penstock.errors import ActionFailed
from penstock.events.dead_letter import dead_letter_headers, told_time
from penstock.events.envelope import EventEnvelope, kafka_meta
from penstock.events.metadata import Event
from penstock.events.record import ConsumerRecord
from penstock.kafka.deliveries import TOMBSTONE
from penstock.kafka.producer import Producer
from penstock.kafka.topics import MAX_LETTER_BYTES, ensure_dead_letters

FILE_NAME = "failed_events.log"

_OURS_ONLY = 0o600
_LARGEST = "message.max.bytes"


class FailedEvents:
    """Store for a pipeline's failed events. `write` and `send` return after the event is safe, or raise.

    A line of the file is DataHub's `{"event_type", "event", "meta"}`, followed by `error`, `failed_at` and `origin`,
    and by `message` if the message could not be decoded. The topic has the original message, with the reason in
    headers.
    """

    def __init__(self, pipeline: str, directory: Path, topic: str | None, settings: Settings) -> None:
        self.path = directory / FILE_NAME
        self.topic = topic
        self._pipeline = pipeline
        self._settings = settings
        self._producer: Producer | None = None
        self._lock = Lock()

    def prepare(self) -> None:
        """Create the directory and the file, so that an unwritable path is detected before the first event."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(b"" if _ends_whole(self.path) else b"\n")
        except OSError as error:
            hint = "name another directory with options.failed_events_dir"
            raise ActionFailed(f"failed events cannot be kept in {self.path}: {error.strerror}", hint=hint) from error

    def write(self, record: ConsumerRecord, event: EventEnvelope | None, event_type: str, error: BaseException) -> None:
        """Append one event to the file; `event` is None if the message could not be decoded."""
        try:
            self._append(_line_of(record, event, event_type, error, datetime.now(UTC)))
        except OSError as failure:
            raise ActionFailed(
                f"{record.origin} failed, and {self.path} cannot be written: {failure.strerror}",
                hint="make room, or name another directory with options.failed_events_dir",
            ) from error

    def send(self, record: ConsumerRecord, error: BaseException) -> None:
        """Send one message to the dead-letter topic, if configured, and wait for the broker's acknowledgement."""
        if self.topic is None:
            return
        code, message = told(error)
        headers = dead_letter_headers(
            record.headers,
            code=code,
            message=message,
            pipeline=self._pipeline,
            failed_at=datetime.now(UTC),
            origin=str(record.origin),
        )
        value = TOMBSTONE if record.value is None else record.value
        self._connected(self.topic).send_sync(value, key=record.key, headers=headers)

    def close(self) -> None:
        """Disconnect."""
        if self._producer is not None:
            self._producer.close(timeout=5)

    def _append(self, line: bytes) -> None:
        """Append in one write to keep lines of several processes whole. A full disk may accept part of a line."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OURS_ONLY)
        try:
            while line:
                line = line[os.write(handle, line) :]
        finally:
            os.close(handle)

    def _connected(self, topic: str) -> Producer:
        """Return the producer, created for the first failed event: most pipelines never need one."""
        with self._lock:
            if self._producer is None:
                ensure_dead_letters(self._settings, topic)
                self._producer = Producer(
                    topic,
                    serializer=_as_it_is,
                    key_type="bytes",
                    linger_ms=0,
                    settings=self._settings,
                    options={_LARGEST: self._settings.kafka.get(_LARGEST, MAX_LETTER_BYTES)},
                )
            return self._producer


def _ends_whole(path: Path) -> bool:
    """Whether the file ends after a complete line. An interrupted write leaves an incomplete line."""
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"
    except OSError:
        return True


def _line_of(
    record: ConsumerRecord, event: EventEnvelope | None, event_type: str, error: BaseException, now: datetime
) -> bytes:
    """Return the line of an event. An event nested too deeply to encode is stored as its original message."""
    try:
        return _line(record, event, event_type, error, now)
    except RecursionError:
        return _line(record, None, event_type, error, now)


def _line(
    record: ConsumerRecord, event: EventEnvelope | None, event_type: str, error: BaseException, now: datetime
) -> bytes:
    code, message = told(error)
    more: dict[str, Any] = {
        "error": {"code": code, "message": message},
        "failed_at": told_time(now),
        "origin": str(record.origin),
    }
    if event is None:
        more["message"] = {"key": _base64(record.key), "value": _base64(record.value)}
        plain = EventEnvelope(event_type, Event({}), {"kafka": kafka_meta(record)})
    else:
        plain = event
    line = plain.as_json().removesuffix(" }") + ", " + msgspec.json.encode(more).decode().removeprefix("{")
    return line.encode() + b"\n"


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _as_it_is(value: bytes) -> bytes:
    return value
