"""One broker handle, and the thread that serves its delivery reports."""

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
"""librdkafka looks for messages that are due once in a second: so long after their time they are forgotten."""

LOGGER = logging.getLogger("penstock.librdkafka")
LOGGER.addHandler(logging.NullHandler())
"""What librdkafka says is raised as our errors as well, so it is heard only where logging was set up."""


class Extras(TypedDict, total=False):
    """What a message may have beside its key and value; the time is in milliseconds."""

    timestamp: int
    headers: HeaderPairs


NO_EXTRAS: Extras = {}


class Reports(Protocol):
    """Who is told what became of the messages; nothing of it may raise."""

    def on_report(self, error: KafkaError | None, message: Message) -> None:
        """Hear of one message that was put without a callback of its own."""
        ...

    def on_fatal(self, error: KafkaError) -> None:
        """Hear why the handle can send nothing any more; all that it holds is reported as purged because of it."""
        ...

    def on_purge(self) -> None:
        """Hear that what is reported as purged from now on was given up on purpose."""
        ...

    def explain(self, error: KafkaError, tried: str) -> PenstockError:
        """Our error for what librdkafka says of a message."""
        ...


class Outbox:
    """Hands bytes to librdkafka and tells what became of them; any number of threads may use it.

    Every message is reported once, on this outbox's own thread or the one that flushes: to the callback it was
    put with, or else to `reports`. Callbacks must not raise.
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
        """Hand over a message; where the buffer is full, wait for room and then fail with BufferFull."""
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
        """Send what lingers and wait for its reports; how many are still missing when the time is over."""
        return 0 if self._closed else self._flush(timeout)

    def close(self, timeout: float) -> None:
        """Flush, give up what is not delivered within the time-out, and let the handle go."""
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
        """Have everything reported that librdkafka holds beyond its time.

        It forgets the messages of a partition whose broker is lost in the moment in which it learns of it.
        """
        self._heard = monotonic()
        self._reports.on_fatal(KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001 - librdkafka's own codes begin so
        self.handle.purge()

    def _poll(self, seconds: float) -> int:
        return self._unless_fatal(partial(self.handle.poll, seconds))

    def _flush(self, seconds: float) -> int:
        """Flush in short steps: the handle's longer ones break where a fatal error comes in the middle of them."""
        give_up = monotonic() + seconds
        while True:
            self._heard = monotonic()
            left = give_up - self._heard
            self._unless_fatal(partial(self.handle.flush, max(0.0, min(left, _POLL_SECONDS))))
            if left <= 0 or not len(self.handle):
                return len(self.handle)

    def _unless_fatal(self, serve: Callable[[], int]) -> int:
        """Serve reports; a fatal error is raised once, by whichever call comes first after it."""
        try:
            return serve()
        except KafkaException as failure:
            self._reports.on_fatal(failure.args[0])
            return 0


def size(value: bytes | None, key: bytes | None) -> str:
    """How large a message is, for who has to be told."""
    return f"{len(value or b'') + len(key or b''):,} bytes"
