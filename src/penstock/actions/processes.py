"""Several processes for one pipeline, sharing the partitions as members of one group."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Event, Thread
from time import monotonic

from penstock.actions.clients import clients_of
from penstock.actions.pipeline import Pipeline
from penstock.actions.runner import Runner
from penstock.actions.spec import PipelineSpec
from penstock.actions.unit import PipelineThread
from penstock.actions.vitals import Vitals
from penstock.config import Settings
from penstock.errors import ActionFailed, PenstockError
from penstock.events.vitals import LastError

_TELL_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_GRACE_SECONDS = 5.0
_FAILED = 70
"""Exit code of a process whose pipeline failed. Any other code except 0 means that the process itself died."""

_context = get_context("spawn")
"""A forked process would inherit librdkafka's state without its threads."""

Host = Callable[[Callable[[], int]], int]
"""Runs a worker's code in the worker's process and returns the exit code, unless the host ends the process."""

_log = logging.getLogger(__name__)


@dataclass
class _Worker:
    """Supervised process. `ended`: the process will not be restarted."""

    number: int
    vitals: Vitals
    process: BaseProcess | None = None
    told: Connection | None = None
    heard_at: float = 0.0
    ended: bool = False
    pause: float = _FIRST_PAUSE
    start_at: float = 0.0


class PipelineProcesses:
    """Supervisor of a pipeline's processes. Dead processes are restarted; a failed pipeline ends all processes."""

    def __init__(self, spec: PipelineSpec, settings: Settings, host: Host) -> None:
        self.name = spec.name
        self.settings = clients_of(spec, settings).others
        self.failure: PenstockError | None = None
        self._spec = spec
        self._given = settings
        self._host = host
        self._workers = [_Worker(number, _before(spec, number)) for number in range(spec.options.workers)]
        self._stopping = False

    def start(self) -> None:
        """Start every process."""
        for worker in self._workers:
            self._start(worker, self._spec)

    def stop(self) -> None:
        """Ask every process to end, without waiting."""
        self._stopping = True
        for worker in self._workers:
            if worker.process is not None and worker.process.is_alive():
                worker.process.terminate()

    def join(self, timeout: float) -> bool:
        """Poll and restart the processes, without waiting. Return whether all have ended for good."""
        del timeout
        for worker in self._workers:
            self._look_after(worker)
        return all(worker.ended for worker in self._workers)

    def end(self) -> None:
        """Wait until all processes have ended. Kill a process that exceeds the time limit."""
        give_up = monotonic() + self._spec.options.shutdown_timeout + _GRACE_SECONDS
        for worker in self._workers:
            if worker.process is not None:
                worker.process.join(max(0.0, give_up - monotonic()))
                _listen(worker)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()

    def vitals(self) -> list[Vitals]:
        """Return the status of the pipeline in each process."""
        return [_vitals(worker) for worker in self._workers]

    def _start(self, worker: _Worker, spec: PipelineSpec) -> None:
        told, tell = _context.Pipe(duplex=False)
        given = (spec, self._given, worker.number, tell, self._host)
        worker.process = _context.Process(target=run_worker, args=given)
        worker.process.start()
        tell.close()
        worker.told, worker.heard_at = told, monotonic()

    def _look_after(self, worker: _Worker) -> None:
        if worker.ended:
            return
        if worker.process is None:
            if monotonic() >= worker.start_at:
                self._start(worker, _going_on(self._spec))
            return
        _listen(worker)
        if not worker.process.is_alive():
            self._ended(worker, worker.process.exitcode)

    def _ended(self, worker: _Worker, code: int | None) -> None:
        _listen(worker)
        worker.process = None
        if code in {0, _FAILED} or self._stopping:
            worker.ended = True
            if code == _FAILED and self.failure is None:
                self.failure = _failure(worker)
                self.stop()
            return
        _died(worker, code)
        worker.start_at = monotonic() + worker.pause
        worker.pause = min(2 * worker.pause, _LONGEST_PAUSE)


def _going_on(spec: PipelineSpec) -> PipelineSpec:
    """Return the spec for a restart, with `start: committed`: the group has already been moved to its start."""
    config = spec.source.config.model_copy(update={"start": "committed"})
    return spec.model_copy(update={"source": spec.source.model_copy(update={"config": config})})


def _before(spec: PipelineSpec, number: int) -> Vitals:
    """Return the status of a worker before its first report."""
    return Vitals(spec.name, number, "starting", datetime.now(UTC), stuck_after=spec.options.stuck_after)


def _vitals(worker: _Worker) -> Vitals:
    """Return the last reported status, with the seconds since the report while the process should be running."""
    silence = monotonic() - worker.heard_at if worker.process is not None else 0.0
    return replace(worker.vitals, unheard=silence)


def _died(worker: _Worker, code: int | None) -> None:
    """Log the death of a process. The worker's status shows the death until the next process reports."""
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    told = f"worker {worker.number} {how}, and is started again after {worker.pause:.0f} s"
    _log.error("pipeline %s: %s", worker.vitals.pipeline, told)
    worker.vitals = replace(
        worker.vitals,
        stage="failed",
        lag={},
        in_work=0,
        oldest=None,
        waits_for_acks=False,
        last_error=LastError(datetime.now(UTC), ActionFailed.code, told, "its output says why"),
    )


def _listen(worker: _Worker) -> None:
    try:
        while worker.told is not None and worker.told.poll():
            worker.vitals, worker.heard_at = worker.told.recv(), monotonic()
    except (EOFError, OSError):
        worker.told = None


def _failure(worker: _Worker) -> PenstockError:
    error = worker.vitals.last_error
    if error is None:
        return ActionFailed(f"worker {worker.number} failed", hint="the log says why")
    return ActionFailed(error.message, hint=error.hint, cause=error.code)


def run_worker(spec: PipelineSpec, settings: Settings, number: int, tell: Connection, host: Host) -> None:
    """Run the pipeline in a worker process until SIGTERM or SIGINT, and report its status."""
    stop = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda _number, _frame: stop.set())
    sys.exit(host(partial(_work, spec, settings, number, tell, stop)))


def _work(spec: PipelineSpec, settings: Settings, number: int, tell: Connection, stop: Event) -> int:
    """Run the pipeline to the end. Return the exit code of the worker."""
    pipeline = PipelineThread(Pipeline(spec, settings), number)
    Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    telling = Thread(target=_tell, args=(pipeline, tell, stop), daemon=True)
    telling.start()
    failures = Runner([pipeline]).run(stop)
    stop.set()
    telling.join()
    _send(tell, pipeline)
    return _FAILED if failures else 0


def _tell(pipeline: PipelineThread, tell: Connection, stop: Event) -> None:
    while not stop.wait(_TELL_SECONDS):
        _send(tell, pipeline)


def _send(tell: Connection, pipeline: PipelineThread) -> None:
    try:
        tell.send(pipeline.vitals()[0])
    except (BrokenPipeError, OSError):
        return


def _end_with_parent(stop: Event) -> None:
    """Stop when the parent dies: an orphaned worker would continue unnoticed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        stop.set()
