"""A pipeline on a thread of its own, in the care of a runner."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from threading import Thread

from penstock.actions.lasting import Lasting
from penstock.actions.pipeline import Pipeline
from penstock.actions.retries import told
from penstock.actions.tally import total
from penstock.actions.vitals import InWork, Stage, Vitals
from penstock.errors import ActionFailed, PenstockError
from penstock.events.vitals import LastError

_GRACE_SECONDS = 2.0
_log = logging.getLogger(__name__)


class PipelineThread:
    """Runs a pipeline; `failure` is what ended it, if it was not `stop`."""

    def __init__(self, pipeline: Pipeline, worker: int = 0) -> None:
        self.pipeline = pipeline
        self.name = pipeline.spec.name
        self.settings = pipeline.clients.others
        self.failure: PenstockError | None = None
        self._worker = worker
        self._stage: Stage = "starting"
        self._started_at = datetime.now(UTC)
        self._error: LastError | None = None
        self._opening, self._waiting = Lasting(), Lasting()
        self._thread = Thread(target=self._run, name=f"penstock-action-{self.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._stage = "running"
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; nothing is waited for."""
        self.pipeline.stop()

    def join(self, timeout: float) -> bool:
        """Wait until it has ended; whether it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait as long as its options say, then leave behind what has not come back."""
        if not self.join(self.pipeline.spec.options.shutdown_timeout + _GRACE_SECONDS):
            self.pipeline.abandon()
            self._stage = "stopped"

    def vitals(self) -> list[Vitals]:
        """How it is."""
        pipeline = self.pipeline
        now = Vitals(
            self.name,
            self._worker,
            self._stage,
            self._started_at,
            counts=dict(pipeline.tally.by_type),
            lag=pipeline.standing.lag,
            position=pipeline.standing.position,
            held=pipeline.tracker.held,
            in_work=len(pipeline.tracker.in_work()),
            oldest=self._oldest(),
            stuck_after=pipeline.spec.options.stuck_after,
            waits_for_acks=self._waits_for_acks(),
            is_connected=pipeline.standing.is_connected,
            last_error=self._error,
        )
        return [now]

    def _oldest(self) -> InWork | None:
        """The event that is decoded, filtered or in work for the longest time."""
        tracker = self.pipeline.tracker
        opening = tracker.opening
        found = [InWork(*each) for each in tracker.in_work()]
        seconds = self._opening.seconds(opening and opening.origin)
        if opening is not None:
            found.append(InWork(opening.origin, seconds))
        return max(found, key=lambda each: each.seconds, default=None)

    def _waits_for_acks(self) -> bool:
        """Whether the buffer is full of events that their action put off, and nothing has come of them for too long."""
        tracker, options = self.pipeline.tracker, self.pipeline.spec.options
        is_full = tracker.held >= options.buffer and tracker.opening is None and not tracker.in_work()
        counts = total(self.pipeline.tally.by_type.copy().values())
        return self._waiting.seconds((counts.received, counts.done) if is_full else None) >= options.stuck_after

    def _run(self) -> None:
        try:
            self.pipeline.run()
        except PenstockError as error:
            self._failed(error)
        except BaseException as error:  # noqa: BLE001 - the thread ends here, and whoever runs it must hear why
            _log.exception("pipeline %s", self.name)
            self._failed(ActionFailed(f"pipeline {self.name}: {told(error)[1]}", hint="the log has the traceback"))
        else:
            self._stage = "finished" if self.pipeline.is_finished else "stopped"

    def _failed(self, error: PenstockError) -> None:
        self._error = LastError.of(error, datetime.now(UTC))
        self.failure = error
        self._stage = "failed"
        _log.error("pipeline %s stopped: %s", self.name, error)
