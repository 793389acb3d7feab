"""The connection that every administrative call goes through."""

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
"""One of AdminClient's functions, which is answered in parts, one for each key."""

_LOOK_INTERVAL = 0.1


class Admin:
    """Administrative calls, each of which ends within the settings' time-out, with an answer or one of our errors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.user = str(settings.kafka.get("sasl.username", ""))
        self._watch = ConnectionWatch()
        self.client = self._connect()

    def __enter__(self) -> Self:
        """Use as a context; the connection ends with it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the connection."""
        del self.client

    def order(self, request: Request[Key], *given: object, tried: str, needs: Sequence[Right] = ()) -> dict[Key, Any]:
        """Send a request that changes something, once; `tried` and `needs` (rights) explain a failure."""
        deadline = time.monotonic() + self.settings.timeout
        try:
            return self._answers(request, given, deadline)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, tried, needs) from failure

    def ask(self, request: Request[Key], *given: object, tried: str, needs: Sequence[Right] = ()) -> dict[Key, Any]:
        """Send a request that may be repeated, until a broker answers it."""
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
        """What the cluster tells this user of its brokers and topics."""
        try:
            return read_metadata(self.client, self._watch, self.settings.timeout)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, f"asking {self.settings.bootstrap} for its topics") from failure

    def _wait(self, answer: Future[Any], deadline: float) -> Any:  # noqa: ANN401 - as above
        """Wait in short looks: librdkafka reports its connections only when polled."""
        while True:
            try:
                return answer.result(timeout=_LOOK_INTERVAL)
            except NotYet:
                self.client.poll(0)
                if self._watch.hopeless or time.monotonic() > deadline + _LOOK_INTERVAL:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001 - as above
                self._look_for_another_broker()

    def _look_for_another_broker(self) -> None:
        """Where a broker refuses, ask the others for metadata: a request waits for the broker that it was meant for."""
        if self._watch.reason is not None:
            with suppress(KafkaException):
                self.client.list_topics(timeout=_LOOK_INTERVAL)

    def explained(
        self, watch: ConnectionWatch, failure: KafkaException, tried: str, needs: Sequence[Right] = ()
    ) -> PenstockError:
        """Our error for a failure of a call, with the user's lacking right or the connection's trouble."""
        error = watch.explained(failure.args[0])
        return translate(error, tried, needs=needs, user=self.user, bootstrap=self.settings.bootstrap)
