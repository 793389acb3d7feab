"""Run queries concurrently, restart them after transient failures, and stop all queries between batches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.errors import PenstockError
from penstock.events.vitals import LastError
from penstock.kafka.heartbeat import Heartbeats
from penstock.kafka.offsets import Offsets
from penstock.spark.queries.progress import GroupProgress, slowest
from penstock.spark.queries.query import Query
from penstock.spark.queries.restarts import Restarts
from penstock.spark.queries.vitals import QueryStage, Vitals

_LOOK_SECONDS = 0.1
_BEAT_SECONDS = 2.0
_log = logging.getLogger(__name__)

Roster = Callable[[], Sequence[Query]]
"""Returns the queries that should run now. A query that continues must be an identical object in every result."""


@dataclass
class _Charge:
    """Query supervised by the runner."""

    query: Query
    stage: QueryStage = "starting"
    restarts: Restarts = field(default_factory=Restarts)
    start_at: float = 0.0
    batches_at_start: int = 0
    error: LastError | None = None
    failure: PenstockError | None = None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Runner:
    """Supervisor of queries, until all have ended or `stop` is set; `run` returns permanent failures by query name.

    A Transient failure restarts the query after a pause that doubles up to a minute. A Terminal failure stops the query
    and leaves the others running. Progress and heartbeats are sent every two seconds and once at the end, to the
    cluster that the pipeline reads. With a `roster`, the runner follows changes of the roster while running, and waits
    while the roster is empty.
    """

    def __init__(self, queries: Sequence[Query] = (), *, roster: Roster | None = None) -> None:
        self._roster = roster or (lambda: queries)
        self._waits_for_more = roster is not None
        self._charges: list[_Charge] = []
        self._heartbeats: dict[str, Heartbeats] = {}
        self._groups: dict[str, GroupProgress] = {}
        self._ends: dict[str, Offsets] = {}
        self._next_beat = 0.0

    def run(self, stop: threading.Event) -> dict[str, PenstockError]:
        """Start and supervise all queries."""
        try:
            self._follow()
            while not stop.is_set() and not self._is_over():
                for charge in self._charges:
                    self._look_after(charge)
                self._beat_if_due()
                stop.wait(_LOOK_SECONDS)
                self._follow()
        finally:
            self._stop_all()
        return {charge.query.spec.name: charge.failure for charge in self._charges if charge.failure is not None}

    def vitals(self) -> Iterator[tuple[Vitals, Offsets]]:
        """Yield the status of every query, with the partitions' end offsets at the last heartbeat."""
        for charge in list(self._charges):
            yield _vitals(charge), self._ends.get(charge.query.spec.pipeline, {})

    def _is_over(self) -> bool:
        if not self._charges:
            return not self._waits_for_more
        return all(charge.stage in {"failed", "finished"} for charge in self._charges)

    def _follow(self) -> None:
        """Stop queries missing from the roster, before new queries with equal names start."""
        wanted = self._roster()
        for charge in [charge for charge in self._charges if charge.query not in wanted]:
            self._retire(charge)
        known = [charge.query for charge in self._charges]
        self._charges += [self._taken_on(query) for query in wanted if query not in known]

    def _taken_on(self, query: Query) -> _Charge:
        spec = query.spec
        if spec.pipeline not in self._groups:
            self._groups[spec.pipeline] = GroupProgress(spec.source.settings, spec.seen_in)
            self._heartbeats[spec.pipeline] = Heartbeats(spec.source.settings)
        return _Charge(query)

    def _retire(self, charge: _Charge) -> None:
        charge.query.stop()
        charge.stage = "stopped"
        self._beat()
        self._charges.remove(charge)
        pipeline = charge.query.spec.pipeline
        if all(other.query.spec.pipeline != pipeline for other in self._charges):
            del self._groups[pipeline]
            self._heartbeats.pop(pipeline).close()

    def _look_after(self, charge: _Charge) -> None:
        if charge.stage in {"starting", "waiting"} and time.monotonic() >= charge.start_at:
            self._start(charge)
        elif charge.stage == "running" and not charge.query.is_active:
            error = charge.query.ended()
            if error is None:
                charge.stage = "finished"
            else:
                self._failed(charge, error)

    def _start(self, charge: _Charge) -> None:
        charge.batches_at_start = charge.query.batches
        charge.query.is_suspect = charge.restarts.is_suspect
        try:
            charge.query.start()
        except PenstockError as error:
            self._failed(charge, error)
        else:
            charge.stage = "running"
            self._next_beat = 0.0  # from here on, the query's lag is known

    def _failed(self, charge: _Charge, error: PenstockError) -> None:
        name, got_on = charge.query.spec.name, charge.query.batches > charge.batches_at_start
        charge.restarts, error, pause = charge.restarts.after(error, got_on=got_on)
        charge.error = LastError.of(error, datetime.now(UTC))
        if pause is None:
            charge.stage, charge.failure = "failed", error
            _log.error("%s stopped: %s", name, error)
        else:
            charge.stage, charge.start_at = "waiting", time.monotonic() + pause
            _log.warning("%s is started again in %.0f s: %s", name, pause, error)

    def _stop_all(self) -> None:
        for charge in self._charges:
            charge.query.begin_no_batch()
        for charge in self._charges:
            if charge.stage == "running":
                charge.query.stop()
            if charge.stage not in {"failed", "finished"}:
                charge.stage = "stopped"
        self._beat()
        for heartbeats in self._heartbeats.values():
            heartbeats.close()

    def _beat_if_due(self) -> None:
        if time.monotonic() >= self._next_beat:
            self._beat()
            self._next_beat = time.monotonic() + _BEAT_SECONDS

    def _beat(self) -> None:
        """Commit the progress to the consumer groups, and send the heartbeats."""
        for pipeline, group in self._groups.items():
            group.commit([self._done(pipeline)])
            positions = [each.query.position.offsets for each in self._charges if each.query.spec.pipeline == pipeline]
            self._ends[pipeline] = group.ends({place for each in positions for place in each})
        for vitals, ends in self.vitals():
            self._heartbeats[vitals.pipeline].send(vitals.name, vitals.as_data(ends, datetime.now(UTC)))

    def _done(self, pipeline: str) -> Offsets:
        """Return the slowest query's offsets for each source; queries of a pipeline may read different topics."""
        by_source: dict[tuple[str, ...], list[Offsets]] = {}
        for charge in self._charges:
            if charge.query.spec.pipeline == pipeline:
                by_source.setdefault(charge.query.spec.source.topics, []).append(charge.query.position.offsets)
        return {place: offset for each in by_source.values() for place, offset in slowest(each).items()}


def _vitals(charge: _Charge) -> Vitals:
    query = charge.query
    return Vitals(
        query.spec.pipeline,
        query.spec.sink,
        stage=charge.stage,
        started_at=charge.started_at,
        restarts=charge.restarts.total,
        batches=query.batches,
        read=query.counts.read,
        refused=query.counts.refused,
        position=query.position.offsets,
        last_batch=query.last_batch,
        last_error=charge.error,
        owner=query.spec.owner,
        underway=query.underway,
    )
