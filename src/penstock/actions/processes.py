"""One pipeline in several processes, which share its partitions as members of one group."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, field
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

_TELL_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_GRACE_SECONDS = 5.0
_FAILED = 70
"""The exit code of a process whose pipeline failed; with any other but 0 the process itself died."""

_context = get_context("spawn")
"""A forked process would inherit librdkafka's state without its threads."""


@dataclass
class _Worker:
    """A process in our care; `ended` when it is not to be started again."""

    number: int
    process: BaseProcess | None = None
    told: Connection | None = None
    vitals: list[Vitals] = field(default_factory=list)
    ended: bool = False
    pause: float = _FIRST_PAUSE
    start_at: float = 0.0


class PipelineProcesses:
    """Starts the processes, and starts those again that died; one whose pipeline failed ends them all."""

    def __init__(self, spec: PipelineSpec, settings: Settings) -> None:
        self.name = spec.name
        self.settings = clients_of(spec, settings).others
        self.failure: PenstockError | None = None
        self._spec = spec
        self._given = settings
        self._workers = [_Worker(number) for number in range(spec.options.workers)]
        self._stopping = False

    def start(self) -> None:
        """Start every process."""
        for worker in self._workers:
            self._start(worker, self._spec)

    def stop(self) -> None:
        """Ask every process to end; nothing is waited for."""
        self._stopping = True
        for worker in self._workers:
            if worker.process is not None and worker.process.is_alive():
                worker.process.terminate()

    def join(self, timeout: float) -> bool:
        """Look after the processes; whether all have ended for good."""
        del timeout
        for worker in self._workers:
            self._look_after(worker)
        return all(worker.ended for worker in self._workers)

    def end(self) -> None:
        """Wait until all have ended; one that takes longer than it may is killed."""
        give_up = monotonic() + self._spec.options.shutdown_timeout + _GRACE_SECONDS
        for worker in self._workers:
            if worker.process is not None:
                worker.process.join(max(0.0, give_up - monotonic()))
                _listen(worker)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()

    def vitals(self) -> list[Vitals]:
        """How the pipeline is in each of its processes."""
        return [vitals for worker in self._workers for vitals in worker.vitals]

    def _start(self, worker: _Worker, spec: PipelineSpec) -> None:
        told, tell = _context.Pipe(duplex=False)
        worker.process = _context.Process(target=run_worker, args=(spec, self._given, worker.number, tell))
        worker.process.start()
        tell.close()
        worker.told = told

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
        worker.process = None
        if code in {0, _FAILED} or self._stopping:
            worker.ended = True
            if code == _FAILED and self.failure is None:
                self.failure = _failure(worker)
                self.stop()
            return
        worker.start_at = monotonic() + worker.pause
        worker.pause = min(2 * worker.pause, _LONGEST_PAUSE)


def _going_on(spec: PipelineSpec) -> PipelineSpec:
    """The pipeline as it is started again: the group has been moved to its start already."""
    config = spec.source.config.model_copy(update={"start": "committed"})
    return spec.model_copy(update={"source": spec.source.model_copy(update={"config": config})})


def _listen(worker: _Worker) -> None:
    try:
        while worker.told is not None and worker.told.poll():
            worker.vitals = worker.told.recv()
    except (EOFError, OSError):
        worker.told = None


def _failure(worker: _Worker) -> PenstockError:
    error = next((vitals.last_error for vitals in worker.vitals if vitals.last_error), None)
    if error is None:
        return ActionFailed(f"worker {worker.number} failed", hint="the log says why")
    return ActionFailed(error.message, hint=error.hint, cause=error.code)


def run_worker(spec: PipelineSpec, settings: Settings, number: int, tell: Connection) -> None:
    """One of the processes: run the pipeline until SIGTERM, and tell how it is."""
    stop = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda _number, _frame: stop.set())
    runner = Runner([PipelineThread(Pipeline(spec, settings), number)])
    Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
    telling = Thread(target=_tell, args=(runner, tell, stop), daemon=True)
    telling.start()
    failures = runner.run(stop)
    stop.set()
    telling.join()
    _send(tell, runner)
    sys.exit(_FAILED if failures else 0)


def _tell(runner: Runner, tell: Connection, stop: Event) -> None:
    while not stop.wait(_TELL_SECONDS):
        _send(tell, runner)


def _send(tell: Connection, runner: Runner) -> None:
    try:
        tell.send(list(runner.vitals()))
    except (BrokenPipeError, OSError):
        return


def _end_with_parent(stop: Event) -> None:
    """A worker whose parent was killed would go on unseen."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        stop.set()
