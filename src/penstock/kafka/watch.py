"""Telling a cluster that cannot be reached from one that is slow."""

from __future__ import annotations

import time

from confluent_kafka import KafkaError

PATIENCE = 2.0
SILENCE = 5.0

_CLOSED = KafkaError(KafkaError._BAD_MSG, "every connection is closed without a word")  # noqa: SLF001 - librdkafka's own codes begin so


class ConnectionWatch:
    """An `error_cb` that gives up once every broker was down and still refuses `PATIENCE` seconds later.

    The patience lets a client try all addresses of a host name before a refusal counts. A broker that expects another
    security.protocol refuses nothing: it closes each connection, which librdkafka reports once, as all brokers down.
    """

    def __init__(self) -> None:
        self._told: KafkaError | None = None
        self._down_since: float | None = None
        self._refused_at = 0.0

    def __call__(self, error: KafkaError) -> None:
        """Take in what librdkafka reports in the background."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - as above
            self._down_since = self._down_since or time.monotonic()
        else:
            self._told = error
            self._refused_at = time.monotonic()

    def restart(self) -> None:
        """Forget the past: what counts is what happens from now on."""
        self._told = None
        self._down_since = None

    @property
    def reason(self) -> KafkaError | None:
        """Why there is no answer, as far as that is known."""
        return _CLOSED if self._silent else self._told

    @property
    def hopeless(self) -> bool:
        """Whether waiting longer is of no use; `reason` says why."""
        refused = self._down_since is not None and self._refused_at - self._down_since >= PATIENCE
        return refused or self._silent

    @property
    def _silent(self) -> bool:
        down = self._down_since is not None and time.monotonic() - self._down_since >= SILENCE
        return down and self._told is None

    def explained(self, error: KafkaError) -> KafkaError:
        """The reason why there was no answer, where a time-out is all that the error says."""
        out_of_time = error.code() == KafkaError._TIMED_OUT  # noqa: SLF001 - as above
        return (self.reason or error) if out_of_time else error
