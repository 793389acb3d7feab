"""One broker handle, and the thread that serves its delivery reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Any, TypedDict, Unpack

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Handle

from penstock.errors import BufferFull, UsageError
from penstock.kafka.errors import translate, translated

HeaderPairs = list[tuple[str, str | bytes | None]]
OnReport = Callable[[KafkaError | None, Message], None]

ANY_PARTITION = -1

_POLL_SECONDS = 0.1
_ROOM_SECONDS = 0.01
_PURGED_SECONDS = 5.0


class Extras(TypedDict, total=False):
    """What a message may have beside its key and value; the time is in milliseconds."""

    timestamp: int
    headers: HeaderPairs


class Outbox:
    """Hands bytes to librdkafka and tells what became of them; any number of threads may use it.

    Every message is reported once, on this outbox's own thread or the one that flushes: to the callback it was
    put with, or else to `on_report`. Callbacks must not raise.
    """

    def __init__(self, topic: str, options: Mapping[str, Any], *, on_report: OnReport, buffer_timeout: float) -> None:
        self._topic = topic
        self._buffer_timeout = buffer_timeout
        with translated(f"making a producer for {topic}"):
            self.handle = Handle({**options, "on_delivery": on_report})
        self._closed = Event()
        self._server = Thread(target=self._serve, name=f"penstock-deliveries-{topic}", daemon=True)
        self._server.start()

    def put(
        self,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        on_report: OnReport | None = None,
        **extras: Unpack[Extras],
    ) -> None:
        """Hand over a message; where the buffer is full, wait for room and then fail with BufferFull."""
        if self._closed.is_set():
            raise UsageError(f"the producer for {self._topic} is closed", hint="make another one to send more")
        try:
            self.handle.produce(self._topic, value, key, partition, on_report, **extras)
        except BufferError:
            again = partial(self.handle.produce, self._topic, value, key, partition, on_report, **extras)
            self._put_when_there_is_room(again)
        except KafkaException as failure:
            raise translate(failure.args[0], f"sending {size(value, key)} to {self._topic}") from failure

    def flush(self, timeout: float) -> int:
        """Send what lingers and wait for its reports; how many are still missing when the time is over."""
        return 0 if self._closed.is_set() else self.handle.flush(timeout)

    def close(self, timeout: float) -> None:
        """Flush, give up what is not delivered within the time-out, and let the handle go."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self.handle.flush(timeout):
            self.handle.purge()
            self.handle.flush(_PURGED_SECONDS)
        self._server.join()
        self.handle.close()

    def _put_when_there_is_room(self, put: Callable[[], None]) -> None:
        give_up = monotonic() + self._buffer_timeout
        while monotonic() < give_up:
            self.handle.poll(_ROOM_SECONDS)
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
        while not self._closed.is_set():
            self.handle.poll(_POLL_SECONDS)


def size(value: bytes | None, key: bytes | None) -> str:
    """How large a message is, for who has to be told."""
    return f"{len(value or b'') + len(key or b''):,} bytes"
