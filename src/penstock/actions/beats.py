"""Heartbeats of this process's pipelines, sent to `penstock.heartbeats` every two seconds."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread

from penstock.actions.metrics import Readings
from penstock.actions.runner import Charge
from penstock.actions.vitals import Vitals
from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.heartbeat import Heartbeats

_BEAT_SECONDS = 2.0
_PAUSE_SECONDS = 30.0
_LAST_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Beats:
    """Heartbeat sender for one cluster, on its own thread: an unreachable cluster blocks nothing else."""

    def __init__(self, readings: Readings, settings: Settings) -> None:
        self._readings = readings
        self._settings = settings
        self._closing = Event()
        self._thread = Thread(target=self._run, name="penstock-beats", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send a final heartbeat with the end of each pipeline. Give up after 5 s."""
        self._closing.set()
        self._thread.join(_LAST_SECONDS)

    def _run(self) -> None:
        heartbeats = self._connected()
        if heartbeats is None:
            return
        while not self._closing.wait(_BEAT_SECONDS):
            self._tell(heartbeats)
        self._tell(heartbeats)
        heartbeats.close()

    def _connected(self) -> Heartbeats | None:
        while True:
            try:
                return Heartbeats(self._settings)
            except PenstockError as error:
                _log.warning("no heartbeats for now: %s", error)
            if self._closing.wait(_PAUSE_SECONDS):
                return None

    def _tell(self, heartbeats: Heartbeats) -> None:
        for vitals in self._readings():
            name = f"{vitals.pipeline}@{socket.gethostname()}.{vitals.worker}"
            heartbeats.send(name, vitals.as_data(datetime.now(UTC)))


def beats_of(charges: Iterable[Charge]) -> list[Beats]:
    """Return the heartbeat senders, one per cluster. Each pipeline reports to the cluster of its source."""
    by_cluster: dict[tuple[str, str], list[Charge]] = {}
    for charge in charges:
        by_cluster.setdefault((charge.settings.bootstrap, str(charge.settings.kafka)), []).append(charge)
    return [Beats(partial(_vitals, own), own[0].settings) for own in by_cluster.values()]


def _vitals(charges: Iterable[Charge]) -> list[Vitals]:
    return [vitals for charge in charges for vitals in charge.vitals()]
