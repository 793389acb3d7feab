"""When a pipeline tells the broker how far it has come."""

from __future__ import annotations

import logging
from math import inf
from time import monotonic

from penstock.actions.halt import Halt
from penstock.actions.reader import Reader
from penstock.actions.source_spec import KafkaSource
from penstock.actions.tracker import Tracker
from penstock.errors import Transient

_AT_LEAST_EVERY_SECONDS = 1.0
_PAUSE_SECONDS = 0.2
_log = logging.getLogger(__name__)


class Commits:
    """Commits what the tracker says is done, as the source's `commit:` asks.

    | commit   | the broker is told                        | waited for     | a kill -9 repeats, of what was done |
    |----------|-------------------------------------------|----------------|-------------------------------------|
    | sync     | after `commit_every` (100) events, or 1 s | its answer     | at most `commit_every` events       |
    | async    | after `commit_every` (500) events, or 1 s | the one before | at most twice `commit_every` events |
    | interval | every `commit_interval` (5) seconds       | the one before | what was done in two intervals      |
    """

    def __init__(self, source: KafkaSource, reader: Reader, tracker: Tracker, halt: Halt) -> None:
        self._how, every = source.commits
        self._every = inf if self._how == "interval" else every
        self._seconds = source.commit_interval if self._how == "interval" else _AT_LEAST_EVERY_SECONDS
        self._reader = reader
        self._tracker = tracker
        self._halt = halt
        self._last = monotonic()

    def commit_if_due(self) -> None:
        """Commit, if enough was done or enough time has passed since the last time.

        With the time goes also what the broker refused before, though nothing was done since.
        """
        if self._tracker.finished >= self._every or monotonic() - self._last >= self._seconds:
            self._commit()

    def _commit(self) -> None:
        self._last = monotonic()
        taken = self._try()
        while not taken and self._how == "sync" and not self._halt.wait(_PAUSE_SECONDS):
            taken = self._try()

    def _try(self) -> bool:
        """Whether the broker was told; with `sync` nothing more is done until it was, or the partitions are gone."""
        try:
            self._reader.commit(self._tracker.offsets(), wait=self._how == "sync")
        except Transient as error:
            _log.warning("%s", error)
            return False
        return True
