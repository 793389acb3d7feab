"""Producer handle, and a thread for delivery reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from threading import Thread
from time import monotonic
from typing import Any, Protocol, TypedDict

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Handle

from penstock.errors import BufferFull, PenstockError, UsageError
from penstock.kafka.errors import translated

HeaderPairs = list[tuple[str, str | bytes | None]]
OnReport = Callable[[KafkaError | None, Message], None]

ANY_PARTITION = -1

_POLL_SECONDS = 0.1
_ROOM_SECONDS = 0.01
_PURGED_SECONDS = 5.0
_STUCK_SECONDS = 3.0
"""librdkafka checks for expired messages once a second. Messages unreported this long after their timeout are
forgotten.
"""

LOGGER = logging.getLogger("penstock.librdkafka")
LOGGER.addHandler(logging.NullHandler())
"""librdkafka's log messages are raised as PenstockErrors too, so they are shown only if logging is configured."""


class Extras(TypedDict, total=False):
    """Parts of a message besides key and value. The timestamp is in milliseconds."""

    timestamp: int
    headers: HeaderPairs


NO_EXTRAS: Extras = {}


class Reports(Protocol):
    """Receiver of delivery results. Its methods must not raise."""

    def on_report(self, error: KafkaError | None, message: Message) -> None:
        """Handle the report of a message that was put without a callback."""
        ...

    def on_fatal(self, error: KafkaError) -> None:
        """Handle the handle's fatal error: nothing is sent afterwards, and all messages are reported as purged."""
        ...

    def on_purge(self) -> None:
        """Note that messages reported as purged from now on were given up on purpose."""
        ...

    def explain(self, error: KafkaError, tried: str) -> PenstockError:
        """Return the PenstockError for librdkafka's error about a message."""
        ...


class Outbox:
    """Hands messages to librdkafka and reports their delivery. Any number of threads may use it.

    Every message is reported once, on the outbox's own thread or the thread that flushes: to the callback passed to
    `put`, or else to `reports`. Callbacks must not raise.
    """

    def __init__(self, topic: str, options: Mapping[str, Any], *, reports: Reports, buffer_timeout: float) -> None:
        self._topic = topic
        self._reports = reports
        self._buffer_timeout = buffer_timeout
        with translated(f"making a producer for {topic}"):
            self.handle = Handle({**options, "on_delivery": reports.on_report, "logger": LOGGER})
        self._closed = False
        self._longest_silence = options["delivery.timeout.ms"] / 1000 + _STUCK_SECONDS
        self._heard = monotonic()
        self._server = Thread(target=self._serve, name=f"penstock-deliveries-{topic}", daemon=True)
        self._server.start()

    def put(
        self,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        on_report: OnReport | None = None,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        """Hand over a message. If the buffer is full, wait for room, then fail with BufferFull."""
        if self._closed:
            raise UsageError(f"the producer for {self._topic} is closed", hint="make another one to send more")
        try:
            if extras:
                self.handle.produce(self._topic, value, key, partition, on_report, **extras)
            else:  # for speed: expanding empty keywords costs more than the rest of this method
                self.handle.produce(self._topic, value, key, partition, on_report)
        except BufferError:
            again = partial(self.handle.produce, self._topic, value, key, partition, on_report, **extras)
            self._put_when_there_is_room(again)
        except KafkaException as failure:
            self._poll(0)
            raise self._reports.explain(failure.args[0], f"sending {size(value, key)} to {self._topic}") from failure

    def flush(self, timeout: float) -> int:
        """Send lingering messages and wait for their reports. Return the number still missing at the timeout."""
        return 0 if self._closed else self._flush(timeout)

    def close(self, timeout: float) -> None:
        """Flush, give up messages that are not delivered within the timeout, and close the handle."""
        if self._closed:
            return
        self._closed = True
        if self._flush(timeout):
            self._reports.on_purge()
            self.handle.purge()
            self._flush(_PURGED_SECONDS)
        self._server.join()
        self.handle.close()

    def _put_when_there_is_room(self, put: Callable[[], None]) -> None:
        give_up = monotonic() + self._buffer_timeout
        while monotonic() < give_up:
            self._poll(_ROOM_SECONDS)
            try:
                return put()
            except BufferError:
                continue
        raise BufferFull(
            f"sending to {self._topic}: the buffer stayed full for {self._buffer_timeout:g} s,"
            f" with {len(self.handle):,} records waiting",
            hint="is the broker reachable? send more slowly, or raise buffer_messages, buffer_kib or buffer_timeout",
        )

    def _serve(self) -> None:
        while not self._closed:
            served = self._poll(_POLL_SECONDS)
            if served or not len(self.handle):
                self._heard = monotonic()
            elif monotonic() - self._heard > self._longest_silence:
                self._give_up_what_is_stuck()

    def _give_up_what_is_stuck(self) -> None:
        """Report messages held by librdkafka beyond their timeout, by purging.

        librdkafka forgets the messages of a partition if the broker is lost at the moment when librdkafka learns of the
        broker.
        """
        self._heard = monotonic()
        self._reports.on_fatal(KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001 - librdkafka's own codes start with _
        self.handle.purge()

    def _poll(self, seconds: float) -> int:
        return self._unless_fatal(partial(self.handle.poll, seconds))

    def _flush(self, seconds: float) -> int:
        """Flush in short steps: a longer flush of the handle breaks if a fatal error arrives during the flush."""
        give_up = monotonic() + seconds
        while True:
            self._heard = monotonic()
            left = give_up - self._heard
            self._unless_fatal(partial(self.handle.flush, max(0.0, min(left, _POLL_SECONDS))))
            if left <= 0 or not len(self.handle):
                return len(self.handle)

    def _unless_fatal(self, serve: Callable[[], int]) -> int:
        """Serve reports. librdkafka raises a fatal error once, in the first call after the failure."""
        try:
            return serve()
        except KafkaException as failure:
            self._reports.on_fatal(failure.args[0])
            return 0


def size(value: bytes | None, key: bytes | None) -> str:
    """Return the size of a message for error messages."""
    return f"{len(value or b'') + len(key or b''):,} bytes"
