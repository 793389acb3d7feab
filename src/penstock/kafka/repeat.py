"""Repeat requests while brokers come and go, and while partitions and groups move between brokers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

Answer = TypeVar("Answer")

TURN = 5.0
"""Timeout of one attempt in seconds: librdkafka keeps waiting for a lost broker, a new connection finds another."""

_PAUSE = 0.2
_PASSING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._TRANSPORT,  # noqa: SLF001 - as above
}


def until_answered(
    call: Callable[[], Answer], deadline: float, before_next: Callable[[], None] = lambda: None
) -> Answer:
    """Return the answer of a call that is safe to repeat. Transient failures are raised at the deadline only."""
    while True:
        try:
            return call()
        except KafkaException as failure:
            if failure.args[0].code() not in _PASSING or time.monotonic() + _PAUSE > deadline:
                raise
        time.sleep(_PAUSE)
        before_next()
