"""Readiness: whether this process and Kafka can accept events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from penstock.errors import PenstockError
from penstock.kafka.acknowledged import AcknowledgedProducer

_ASK_SECONDS = 2.0
_REMEMBER_SECONDS = 1.0


class Readiness:
    """Asks Kafka for the topics at most once a second, regardless of the number of probes."""

    def __init__(self, producer: AcknowledgedProducer, topics: Sequence[str]) -> None:
        self._producer = producer
        self._topics = topics
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._obstacle: PenstockError | None = None

    async def obstacle(self) -> PenstockError | None:
        """Return the error that prevents accepting events, or None."""
        async with self._asking:
            if monotonic() - self._asked_at > _REMEMBER_SECONDS:
                self._obstacle = await self._ask()
                self._asked_at = monotonic()
        return self._obstacle

    async def _ask(self) -> PenstockError | None:
        try:
            await self._producer.check(self._topics, _ASK_SECONDS)
        except PenstockError as error:
            return error
        return None
