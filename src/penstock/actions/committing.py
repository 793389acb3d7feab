"""Offset commits of a pipeline."""

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
    """Committer of finished offsets, configured by the source's `commit:`.

    | commit   | a commit is sent                          | waits for           | kill -9 repeats finished events |
    |----------|-------------------------------------------|---------------------|---------------------------------|
    | sync     | after `commit_every` (100) events, or 1 s | the broker's answer | at most `commit_every`          |
    | async    | after `commit_every` (500) events, or 1 s | the previous commit | at most twice `commit_every`    |
    | interval | every `commit_interval` (5) seconds       | the previous commit | of two intervals                |

    With `sync`, processing continues only after the broker has accepted a commit or the partitions are gone.
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
        """Commit if enough events are done or enough time has passed since the last commit.

        The timer also resends offsets that the broker refused earlier, even if no event was finished since.
        """
        if self._tracker.finished >= self._every or monotonic() - self._last >= self._seconds:
            self._commit()

    def _commit(self) -> None:
        self._last = monotonic()
        taken = self._try()
        while not taken and self._how == "sync" and not self._halt.wait(_PAUSE_SECONDS):
            taken = self._try()

    def _try(self) -> bool:
        """Commit once. Return False after a transient error."""
        try:
            self._reader.commit(self._tracker.offsets(), wait=self._how == "sync")
        except Transient as error:
            _log.warning("%s", error)
            return False
        return True
