"""Run of one pipeline: read, process every event, commit, and stop in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from math import inf
from time import monotonic

from penstock.actions.assembly import Mode, assemble
from penstock.actions.clients import Clients, clients_of
from penstock.actions.committing import Commits
from penstock.actions.context import PipelineContext
from penstock.actions.datahub import connect_graph
from penstock.actions.event_source import TrackedSource
from penstock.actions.halt import Halt
from penstock.actions.lines import LineSource, LinesReader
from penstock.actions.path import EventPath, Stages
from penstock.actions.preview import Excerpt
from penstock.actions.reader import Reader
from penstock.actions.source import open_reader
from penstock.actions.spec import PipelineSpec
from penstock.actions.tally import Tally
from penstock.actions.tracker import Tracker
from penstock.actions.workers import Workers
from penstock.config import Settings
from penstock.errors import PenstockError, Transient
from penstock.kafka.group_reader import Standing
from penstock.kafka.offsets import PartitionId
from penstock.kafka.rebalance import Callbacks

_BATCH = 500
_WAIT_SECONDS = 0.1
_LOOK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Pipeline:
    """One pipeline. `run` uses the calling thread; all other members may be used from any thread."""

    def __init__(self, spec: PipelineSpec, settings: Settings, mode: Mode = Mode()) -> None:  # noqa: B008 - immutable
        self.spec = spec
        self.tally = Tally()
        self.tracker = Tracker()
        self.standing = Standing()
        self.clients: Clients = clients_of(spec, settings)
        self._halt = Halt()
        self._mode = mode
        self._left = inf if mode.limit is None else mode.limit
        self._reader: Reader | None = None
        self._looked_at = 0.0
        self._patience = min(spec.options.shutdown_timeout, self.clients.group_waits / 2)

    @property
    def is_reading(self) -> bool:
        """Whether the start position is set, so that events arriving from now on are read."""
        return self._reader is not None

    @property
    def is_finished(self) -> bool:
        """Whether the requested number of events was read, or the source is exhausted."""
        return not self._left or (self._reader is not None and self._reader.is_exhausted)

    def run(self) -> None:
        """Run until `stop` is called or the work is finished. Raise any other cause of the end."""
        source = TrackedSource(self.tracker, self.tally) if self._mode.events is None else LineSource()
        graph = None if self.spec.datahub is None else partial(connect_graph, self.spec.datahub)
        ctx = PipelineContext(self.spec.name, source, self.clients.others, graph)
        stages = assemble(self.spec, self.clients, ctx, self._mode)
        try:
            stages.failed.prepare()
            self._read(stages)
        finally:
            self._close_stages(stages)
            self._close_reader()
        if self._halt.failure is not None:
            raise self._halt.failure

    def stop(self) -> None:
        """Start no new event, finish the events in work, commit, and end."""
        self.tracker.stop()
        self._halt.set()

    def abandon(self) -> None:
        """Commit finished events and leave the group although an action has not returned."""
        for origin, seconds in self.tracker.in_work():
            _log.warning("%s: given up after %.0f s in work; it will be read again", origin, seconds)
        self._close_reader()

    def _read(self, stages: Stages) -> None:
        self._reader = self._open()
        path = EventPath(stages, self.tracker, self.tally, self._halt)
        workers = Workers(path, self.spec.options) if self.spec.options.concurrency > 1 else None
        try:
            self._carry_all(self._reader, path, workers)
        finally:
            self.tracker.stop()
            self.tracker.wait_idle(self.spec.options.shutdown_timeout)
            if workers is not None:
                workers.close()

    def _open(self) -> Reader:
        source, mode = self.spec.source.config, self._mode
        if mode.events is not None:
            return LinesReader(mode.events)
        if mode.preview is not None:
            return Excerpt(source, self.clients, newest=mode.limit or _BATCH)
        return open_reader(source, self.clients, Callbacks(on_revoked=self._revoked, on_lost=self._lost))

    def _carry_all(self, reader: Reader, path: EventPath, workers: Workers | None) -> None:
        commits = Commits(self.spec.source.config, reader, self.tracker, self._halt)
        while not self.is_finished and not self._halt.is_set:
            commits.commit_if_due()
            self._look(reader)
            room = self._room(workers)
            if not room:
                continue
            received = reader.take(int(min(_BATCH, self._left, room)), _WAIT_SECONDS, self.tracker.receive)
            for record, window in received:
                if self._halt.is_set:
                    break
                path.begin(record, window)
                commits.commit_if_due()
            self._left -= len(received)
        while workers is not None and not self._halt.is_set and not workers.wait(_WAIT_SECONDS):
            commits.commit_if_due()
            self._look(reader)

    def _room(self, workers: Workers | None) -> int:
        """Return how many more events may be read. The reader's keep-alive holds the group membership meanwhile."""
        options = self.spec.options
        if workers is not None and workers.bytes_held >= options.buffer_bytes:
            self._halt.wait(_WAIT_SECONDS / 10)
            return 0
        return self.tracker.wait_room(options.buffer, _WAIT_SECONDS)

    def _look(self, reader: Reader) -> None:
        now = monotonic()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self.standing = reader.standing()

    def _revoked(self, partitions: Iterable[PartitionId]) -> None:
        """On revocation, finish the events in work within a time limit, then commit."""
        if self._reader is not None:
            self._reader.commit(self.tracker.close(partitions, self._patience), wait=True)

    def _lost(self, partitions: Iterable[PartitionId]) -> None:
        self.tracker.close(partitions, 0)

    def _close_stages(self, stages: Stages) -> None:
        """Close the action first: `close` may acknowledge deferred events."""
        for part in (stages.action, *stages.transformers, stages.failed):
            try:
                close = getattr(part, "close", None)
                if close is not None:
                    close()
            except Exception:  # noqa: BLE001 - a user's class may raise anything; offsets must still be committed
                _log.exception("closing %s failed", type(part).__name__)

    def _close_reader(self) -> None:
        if self._reader is None:
            return
        try:
            self._reader.close(self.tracker.offsets())
        except Transient as error:
            _log.warning("%s", error)
        except PenstockError:
            if self._halt.failure is None:
                raise
