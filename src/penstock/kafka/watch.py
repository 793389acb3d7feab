"""Distinguish an unreachable cluster from a slow one."""

from __future__ import annotations

import time

from confluent_kafka import KafkaError

PATIENCE = 2.0
SILENCE = 5.0

_CLOSED = KafkaError(KafkaError._BAD_MSG, "every connection is closed without a word")  # noqa: SLF001 - librdkafka's own codes start with _


class ConnectionWatch:
    """An `error_cb` that gives up if every broker was down and still refuses `PATIENCE` seconds later.

    The patience lets a client try all addresses of a host name before a refusal counts. If brokers expect a different
    security.protocol, they do not refuse but close each connection; librdkafka reports only that all brokers are down.
    So `SILENCE` seconds without a further report count as unreachable too.
    """

    def __init__(self) -> None:
        self._told: KafkaError | None = None
        self._down_since: float | None = None
        self._refused_at = 0.0

    def __call__(self, error: KafkaError) -> None:
        """Record an error that librdkafka reports in the background."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - as above
            self._down_since = self._down_since or time.monotonic()
        else:
            self._told = error
            self._refused_at = time.monotonic()

    def restart(self) -> None:
        """Forget all earlier errors."""
        self._told = None
        self._down_since = None

    @property
    def reason(self) -> KafkaError | None:
        """Reason for the missing answer, if known."""
        return _CLOSED if self._silent else self._told

    @property
    def hopeless(self) -> bool:
        """Whether waiting longer is useless. `reason` has the cause."""
        refused = self._down_since is not None and self._refused_at - self._down_since >= PATIENCE
        return refused or self._silent

    @property
    def _silent(self) -> bool:
        down = self._down_since is not None and time.monotonic() - self._down_since >= SILENCE
        return down and self._told is None

    def explained(self, error: KafkaError) -> KafkaError:
        """Return the reason for a missing answer if the error is only a timeout, else the error."""
        out_of_time = error.code() == KafkaError._TIMED_OUT  # noqa: SLF001 - as above
        return (self.reason or error) if out_of_time else error
