"""Outbox relay: publishes committed changes to Kafka, in order, at least once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from penstock.catalog.database import Connection, Database
from penstock.catalog.telling.change import Change
from penstock.catalog.telling.messages import (
    CHANGE_LOG_TOPIC,
    PLATFORM_EVENT_TOPIC,
    change_log,
    change_log_schema,
    platform_event_schema,
    platform_events,
)
from penstock.config import Settings
from penstock.errors import RecordError, Transient, Undelivered, UndeliveredRecord
from penstock.kafka.envelope import Envelope
from penstock.kafka.producer import Producer
from penstock.kafka.topics import ensure_topic

_LOCK = 0x74656C6C
"""Advisory lock of the active sender, so that two senders cannot mix up the order."""

_NUMBER = "penstock.change"
"""Header with the number of the change."""

_REFUSE = """
INSERT INTO outbox_refused SELECT o.*, %s FROM outbox o
WHERE id = %s AND NOT EXISTS (SELECT FROM outbox_refused r WHERE r.id = o.id)
"""

_WAITING = """
SELECT id, urn, aspect, before::text, after::text, round(date_part('epoch', event_time) * 1000)::bigint, actor
FROM outbox WHERE id > %s ORDER BY id LIMIT %s
"""

_log = logging.getLogger(__name__)


class Sender:
    """Publishes the outbox, keyed by URN, and removes changes once all in-sync replicas have them.

    A crash in between causes duplicates: each message carries the number of its change in the header `penstock.change`.
    A change that Kafka can never accept is moved to `outbox_refused`.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._last = 0
        """Id from which the outbox is scanned. Rows of earlier changes are dead tuples that every scan would read."""
        for topic in (CHANGE_LOG_TOPIC, PLATFORM_EVENT_TOPIC):
            ensure_topic(settings, topic)
        self._change_log = Producer(CHANGE_LOG_TOPIC, change_log_schema(), settings=settings)
        self._platform_event = Producer(PLATFORM_EVENT_TOPIC, platform_event_schema(), settings=settings)

    def send(self, limit: int = 5000) -> int:
        """Send up to `limit` pending changes. Return their number.

        Raise Transient if Kafka or PostgreSQL is unavailable.
        """
        with self._database.transaction() as connection:
            if connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK]).fetchone() != (True,):
                return 0
            waiting = connection.execute(_WAITING, [self._last, limit]).fetchall()
            changes = [Change.from_row(row) for row in waiting]
            for change in changes:
                self._send(connection, change)
            if refused := self._flush():
                # A broker rejects a whole request because of one message that is too large. Send each message alone,
                # and also all messages after the first rejected one, so that the changes of a URN stay in order.
                for change in changes:
                    if change.id >= min(refused):
                        self._send(connection, change, Producer.send_sync)
            connection.execute("DELETE FROM outbox WHERE id = ANY(%s)", [[change.id for change in changes]])
        self._last = changes[-1].id if changes else 0
        return len(changes)

    def send_all(self) -> int:
        """Send until the outbox is empty. Return the number of changes."""
        total = 0
        while sent := self.send():
            total += sent
        return total

    def run(self, stop: threading.Event, pause: float = 0.2) -> None:
        """Send until `stop` is set. Transient errors are retried."""
        while not stop.is_set():
            try:
                if not self.send():
                    stop.wait(pause)
            except Transient as error:
                _log.warning("changes wait to be told: %s", error)
                stop.wait(5 * pause)

    def close(self) -> None:
        """Disconnect. Unsent changes stay in the outbox."""
        self._change_log.close()
        self._platform_event.close()

    def __enter__(self) -> Self:
        """Return the sender; the context manager closes the sender at its end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _send(self, connection: Connection, change: Change, put: Callable[..., object] = Producer.send) -> None:
        envelope: Envelope = {"key": change.urn, "headers": [(_NUMBER, str(change.id))]}
        try:
            if log := change_log(change):
                put(self._change_log, log, **envelope)
            for event in platform_events(change):
                put(self._platform_event, event, **envelope)
        except RecordError as error:
            _log.error("change %d of %s cannot be told: %s", change.id, change.urn, error)
            connection.execute(_REFUSE, [error.message, change.id])

    def _flush(self) -> set[int]:
        """Wait for the brokers. Return the ids of rejected changes; raise Undelivered for other failures."""
        refused: set[int] = set()
        for producer in (self._change_log, self._platform_event):
            try:
                producer.flush()
            except Undelivered as report:
                if not all(isinstance(record.reason, RecordError) for record in report.records):
                    raise
                refused |= {_number(record) for record in report.records}
        return refused


def _number(record: UndeliveredRecord) -> int:
    return int(dict(record.headers)[_NUMBER] or 0)
