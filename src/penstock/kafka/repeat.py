"""Asking again while brokers come and go, and partitions and groups move between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

Answer = TypeVar("Answer")

TURN = 5.0
"""How long one turn waits: librdkafka goes on waiting for a broker that is gone, a new connection finds another."""

_PAUSE = 0.2
_PASSING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes begin so
    KafkaError._TRANSPORT,  # noqa: SLF001 - as above
}


def until_answered(
    call: Callable[[], Answer], deadline: float, before_next: Callable[[], None] = lambda: None
) -> Answer:
    """The answer of a call that may be repeated; a failure that may pass counts only at the deadline."""
    while True:
        try:
            return call()
        except KafkaException as failure:
            if failure.args[0].code() not in _PASSING or time.monotonic() + _PAUSE > deadline:
                raise
        time.sleep(_PAUSE)
        before_next()
