"""Waiting for a group's coordinator, the broker that keeps the group's offsets and members."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

Answer = TypeVar("Answer")

_PAUSE = 0.2
_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


def when_coordinator_settles(call: Callable[[], Answer], deadline: float) -> Answer:
    """The call's answer; it is repeated, until the deadline, while the coordinator moves or loads."""
    while True:
        try:
            return call()
        except KafkaException as failure:
            if failure.args[0].code() not in _MOVES or time.monotonic() + _PAUSE > deadline:
                raise
        time.sleep(_PAUSE)
