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
from penstock.kafka.coordinator import when_coordinator_settles
from penstock.kafka.errors import Right, translate, translated
from penstock.kafka.metadata import read_metadata
from penstock.kafka.options import client_options
from penstock.kafka.watch import ConnectionWatch

Key = TypeVar("Key")

_LOOK_INTERVAL = 0.1


class Admin:
    """Administrative calls, each of which ends within the settings' time-out, with an answer or one of our errors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.user = str(settings.kafka.get("sasl.username", ""))
        self._watch = ConnectionWatch()
        with translated(f"connecting to {settings.bootstrap}"):
            self.client = AdminClient(client_options(settings, error_cb=self._watch))

    def __enter__(self) -> Self:
        """Use as a context; the connection ends with it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the connection."""
        del self.client

    def ask(self, request: Callable[..., Future[Any]], *given: object, tried: str, needs: Sequence[Right] = ()) -> Any:  # noqa: ANN401 - each request has its own answer
        """Send a request and wait for its answer; `tried` and `needs` (rights) explain a failure."""

        def alone(*args: object, **options: object) -> dict[str, Future[Any]]:
            return {"": request(*args, **options)}

        return self.ask_each(alone, *given, tried=tried, needs=needs)[""]

    def ask_each(
        self,
        request: Callable[..., Mapping[Key, Future[Any]]],
        *given: object,
        tried: str,
        needs: Sequence[Right] = (),
    ) -> dict[Key, Any]:
        """Send a request that is answered in parts, one for each key."""
        deadline = time.monotonic() + self.settings.timeout
        self.client.poll(0)
        self._watch.restart()

        def answered() -> dict[Key, Any]:
            left = max(deadline - time.monotonic(), _LOOK_INTERVAL)
            return {key: self._wait(answer, deadline) for key, answer in request(*given, request_timeout=left).items()}

        try:
            return when_coordinator_settles(answered, deadline)
        except KafkaException as failure:
            raise self.explained(self._watch, failure, tried, needs) from failure

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
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001 - librdkafka's own codes begin so
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
