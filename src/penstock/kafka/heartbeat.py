"""Heartbeats: the status of every pipeline, on any machine, in one compacted topic."""

from __future__ import annotations

import json
import logging
from typing import Any

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.producer import Producer
from penstock.kafka.topics import ensure_topic

TOPIC = "penstock.heartbeats"

_SETTINGS = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "segment.ms": "600000"}
_PATIENCE_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Heartbeats:
    """Publishes status under a name. Failures are only logged, because a heartbeat must not stop a pipeline."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.model_copy(update={"timeout": min(settings.timeout, _PATIENCE_SECONDS)})
        self._producer: Producer | None = None

    def send(self, query: str, data: dict[str, Any]) -> None:
        """Publish the status of a query."""
        try:
            self._connected().send(data, key=query)
        except PenstockError as error:
            _log.warning("no heartbeat of %s: %s", query, error)

    def close(self) -> None:
        """Wait for the last heartbeats to be delivered."""
        try:
            if self._producer is not None:
                self._producer.close(timeout=_PATIENCE_SECONDS)
        except PenstockError as error:
            _log.warning("the last heartbeats did not arrive: %s", error)

    def _connected(self) -> Producer:
        if self._producer is None:
            ensure_topic(self._settings, TOPIC, partitions=1, config=_SETTINGS)
            self._producer = Producer(TOPIC, serializer=_as_json, settings=self._settings, buffer_timeout=0.0)
        return self._producer


def _as_json(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()
