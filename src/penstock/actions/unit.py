"""Pipeline on a separate thread, supervised by a runner."""

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
    """Thread of a pipeline. `failure` is the error that ended the pipeline, if any."""

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
        """Start the thread."""
        self._stage = "running"
        self._thread.start()

    def stop(self) -> None:
        """Ask the pipeline to stop, without waiting."""
        self.pipeline.stop()

    def join(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds. Return whether the pipeline has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait as long as the pipeline's options allow, then abandon actions that have not returned."""
        if not self.join(self.pipeline.spec.options.shutdown_timeout + _GRACE_SECONDS):
            self.pipeline.abandon()
            self._stage = "stopped"

    def vitals(self) -> list[Vitals]:
        """Return the status of the pipeline."""
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
        """Return the event in decoding, filtering or work for the longest time."""
        tracker = self.pipeline.tracker
        opening = tracker.opening
        found = [InWork(*each) for each in tracker.in_work()]
        seconds = self._opening.seconds(opening and opening.origin)
        if opening is not None:
            found.append(InWork(opening.origin, seconds))
        return max(found, key=lambda each: each.seconds, default=None)

    def _waits_for_acks(self) -> bool:
        """Return whether the buffer has been full of deferred events for too long, without any progress."""
        tracker, options = self.pipeline.tracker, self.pipeline.spec.options
        is_full = tracker.held >= options.buffer and tracker.opening is None and not tracker.in_work()
        counts = total(self.pipeline.tally.by_type.copy().values())
        return self._waiting.seconds((counts.received, counts.done) if is_full else None) >= options.stuck_after

    def _run(self) -> None:
        try:
            self.pipeline.run()
        except PenstockError as error:
            self._failed(error)
        except BaseException as error:  # noqa: BLE001 - the thread ends here; its owner must learn the reason
            _log.exception("pipeline %s", self.name)
            self._failed(ActionFailed(f"pipeline {self.name}: {told(error)[1]}", hint="the log has the traceback"))
        else:
            self._stage = "finished" if self.pipeline.is_finished else "stopped"

    def _failed(self, error: PenstockError) -> None:
        self._error = LastError.of(error, datetime.now(UTC))
        self.failure = error
        self._stage = "failed"
        _log.error("pipeline %s stopped: %s", self.name, error)
