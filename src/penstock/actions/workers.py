"""Concurrent processing of events. Events of one lane stay in order."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition

from penstock.actions.lanes import Lanes
from penstock.actions.path import EventPath, Job
from penstock.actions.spec import Options, Ordering
from penstock.events.record import ConsumerRecord

_LANES: dict[Ordering, Callable[[ConsumerRecord], Hashable | None]] = {
    "key": lambda record: record.key,
    "partition": lambda record: (record.topic, record.partition),
    "none": lambda _record: None,
}
"""Lane of a record: events of one lane wait for each other. Events without a lane or a key wait for none."""


class Workers:
    """Threads that finish jobs. `bytes_held` is the size of all messages waiting or in work."""

    def __init__(self, path: EventPath, options: Options) -> None:
        self.bytes_held = 0
        self._jobs = 0
        self._finish = path.finish
        self._lane = _LANES[options.ordering]
        self._changed = Condition()
        self._lanes: Lanes[Job] = Lanes(options.concurrency, self._work)
        path.hand_over = self.put
        self.close = self._lanes.close

    def put(self, job: Job) -> None:
        """Submit a job, to run after the earlier jobs of its lane."""
        with self._changed:
            self._jobs += 1
            self.bytes_held += len(job.record.value or b"")
        self._lanes.put(self._lane(job.record), job)

    def wait(self, timeout: float) -> bool:
        """Wait until every job is finished. Return False after the time limit."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs, timeout)

    def _work(self, job: Job) -> None:
        self._finish(job)
        with self._changed:
            self._jobs -= 1
            self.bytes_held -= len(job.record.value or b"")
            if not self._jobs:
                self._changed.notify_all()
