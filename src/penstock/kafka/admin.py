"""Connection for all administrative calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.errors import Right, translate, translated
from penstock.kafka.metadata import read_metadata
from penstock.kafka.options import client_options
from penstock.kafka.repeat import TURN, until_answered
from penstock.kafka.watch import ConnectionWatch

Key = TypeVar("Key")
Request = Callable[..., Mapping[Key, Future[Any]]]
"""A method of AdminClient that returns a future for each key."""

_LOOK_INTERVAL = 0.1


class Admin:
    """Administrative calls. Each ends within the settings' timeout, with an answer or a PenstockError."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.user = str(settings.kafka.get("sasl.username", ""))
        self._watch = ConnectionWatch()
        self.client = self._connect()

    def __enter__(self) -> Self:
        """Use as a context manager, which closes the connection."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        del self.client

    def order(self, request: Request[Key], *given: object, tried: str, needs: Sequence[Right] = ()) -> dict[Key, Any]:
        """Send a request that changes something, once. `tried` and `needs` (rights) explain a failure."""
        deadline = time.monotonic() + self.settings.timeout
        try:
            return self._answers(request, given, deadline)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, tried, needs) from failure

    def ask(self, request: Request[Key], *given: object, tried: str, needs: Sequence[Right] = ()) -> dict[Key, Any]:
        """Send a repeatable request until a broker answers."""
        deadline = time.monotonic() + self.settings.timeout

        def answers() -> dict[Key, Any]:
            return self._answers(request, given, min(deadline, time.monotonic() + TURN))

        try:
            return until_answered(answers, deadline, before_next=self._connect_anew)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, tried, needs) from failure

    def _connect_anew(self) -> None:
        if self._watch.hopeless:
            raise KafkaException(self._watch.reason)
        self.client = self._connect()

    def _connect(self) -> AdminClient:
        with translated(f"connecting to {self.settings.bootstrap}"):
            return AdminClient(client_options(self.settings, error_cb=self._watch))

    def _answers(self, request: Request[Key], given: Sequence[object], deadline: float) -> dict[Key, Any]:
        self.client.poll(0)
        self._watch.restart()
        left = max(deadline - time.monotonic(), _LOOK_INTERVAL)
        answers = request(self.client, *given, request_timeout=left)
        return {key: self._wait(answer, deadline) for key, answer in answers.items()}

    def metadata(self) -> ClusterMetadata:
        """Return the brokers and topics visible to the user."""
        try:
            return read_metadata(self.client, self._watch, self.settings.timeout)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, f"asking {self.settings.bootstrap} for its topics") from failure

    def _wait(self, answer: Future[Any], deadline: float) -> Any:  # noqa: ANN401 - answers are of any type
        """Wait in short intervals: librdkafka reports connection errors only when polled."""
        while True:
            try:
                return answer.result(timeout=_LOOK_INTERVAL)
            except NotYet:
                self.client.poll(0)
                if self._watch.hopeless or time.monotonic() > deadline + _LOOK_INTERVAL:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001 - as above
                self._look_for_another_broker()

    def _look_for_another_broker(self) -> None:
        """After a connection error, request metadata from any broker: a pending request waits for its own broker."""
        if self._watch.reason is not None:
            with suppress(KafkaException):
                self.client.list_topics(timeout=_LOOK_INTERVAL)

    def explained(
        self, watch: ConnectionWatch, failure: KafkaException, tried: str, needs: Sequence[Right] = ()
    ) -> PenstockError:
        """Return the PenstockError for a failed call, naming the missing right or the connection problem."""
        error = watch.explained(failure.args[0])
        return translate(error, tried, needs=needs, user=self.user, bootstrap=self.settings.bootstrap)
