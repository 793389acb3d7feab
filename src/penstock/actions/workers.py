"""Several events in work at once: those that must stay in order wait for each other."""

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
"""What events have in common that wait for each other; events without a key wait for none."""


class Workers:
    """Finishes jobs on threads of its own; `bytes_held` are those of the messages that wait or are in work."""

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
        """Have a job finished, after those before it that it has to wait for."""
        with self._changed:
            self._jobs += 1
            self.bytes_held += len(job.record.value or b"")
        self._lanes.put(self._lane(job.record), job)

    def wait(self, timeout: float) -> bool:
        """Wait until every job is finished; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs, timeout)

    def _work(self, job: Job) -> None:
        self._finish(job)
        with self._changed:
            self._jobs -= 1
            self.bytes_held -= len(job.record.value or b"")
            if not self._jobs:
                self._changed.notify_all()
