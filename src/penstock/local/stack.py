"""Local stack: real systems as processes that start together, stop in order and never outlive the stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from pydantic import SecretStr

from penstock.config import PassThrough, Settings
from penstock.errors import LocalError, NotRunning, UsageError
from penstock.local.claim import Claim, Facts
from penstock.local.jars import OnProgress
from penstock.local.parts import files_needed, kafka, plan, postgres
from penstock.local.ports import check_ports
from penstock.local.runner import Halted, Runner
from penstock.local.site import Site, StackOptions, survey
from penstock.local.state import PartState, Phase, StackState, own_process, remove_state, write_state

__all__ = ["Stack", "StackOptions"]


class Stack:
    """Stack of the systems in `options`, on the ports and in the directory from the settings.

    A stack starts once. Its processes die with this process, even after SIGKILL. `on_change` receives every state
    change of a part and runs on several threads. `notice` receives one-line messages for the user.
    """

    def __init__(
        self,
        options: StackOptions | None = None,
        settings: Settings | None = None,
        *,
        on_change: Callable[[PartState], None] = lambda _state: None,
        notice: Callable[[str], None] = lambda _line: None,
        on_download: OnProgress = lambda _done, _total: None,
    ) -> None:
        self._options = options or StackOptions()
        self._settings = settings or Settings.model_validate({})
        self._on_change = on_change
        self._notice = notice
        self._on_download = on_download
        self._site: Site | None = None
        self._claim: Claim | None = None
        self._runners: tuple[Runner, ...] = ()
        self._phase = Phase.STARTING
        self._writing = threading.Lock()
        self._halt = threading.Event()
        self._spawner = ThreadPoolExecutor(1, thread_name_prefix="penstock-spawner")

    def start(self) -> None:
        """Start all parts, and return when all are ready. After a failure, nothing is left running."""
        _check_system()
        self._claim = Claim(self._settings.data.absolute(), _facts(self._options), self._notice)
        with ExitStack() as undo:
            undo.callback(self.stop)
            self._site = survey(self._options, self._settings)
            self._site.jars.fetch(files_needed(self._options), self._on_download)
            parts = plan(self._site)
            check_ports(parts)
            self._claim.remember_facts()
            self._runners = tuple(Runner(part, self._spawner, self._halt, self._changed) for part in parts)
            self._start_all()
            self._site.security.settle(self.settings())
            undo.pop_all()
        self._enter(Phase.RUNNING)

    def stop(self) -> None:
        """Stop all parts in reverse order. Calling `stop` again has no effect."""
        if self._claim is None:
            return
        self._halt.set()
        self._enter(Phase.STOPPING)
        for wave in reversed(_waves(self._runners)):
            _stop_together(wave)
        self._spawner.shutdown()
        remove_state(self._settings.data.absolute())
        self._claim.release()
        self._claim = None

    def settings(self) -> Settings:
        """Return the settings of a client of this stack."""
        site = self._running_site()
        return self._settings.model_copy(
            update={
                "bootstrap": site.bootstrap,
                "registry": f"http://localhost:{self._settings.ports.registry}",
                "database": SecretStr(postgres.database_url(site)),
                "connect": f"http://localhost:{self._settings.ports.connect}",
                "kafka": PassThrough({**self._settings.kafka, **site.security.python_client}),
            }
        )

    def addresses(self) -> dict[str, str]:
        """Return the addresses of running systems, by setting name."""
        found = addresses_in(self.settings()) if self._site else {}
        return {name: value for name, value in found.items() if name != "connect" or self._options.cdc}

    def states(self) -> tuple[PartState, ...]:
        """Return the current state of every part. Dead processes are detected by this call."""
        return tuple(runner.look() for runner in self._runners)

    def kill(self, name: str) -> None:
        """Kill a part with SIGKILL, like a crash."""
        self._runner(name).kill()

    def restart(self, name: str) -> None:
        """Restart a killed or dead part, and wait until the part is ready."""
        self._runner(name).boot()

    def __enter__(self) -> Self:
        """Start the stack."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the stack."""
        self.stop()

    def _start_all(self) -> None:
        boots: dict[str, Future[None]] = {}
        with ThreadPoolExecutor(len(self._runners), thread_name_prefix="penstock-boot") as pool:
            for runner in self._runners:
                needed = [boots[name] for name in runner.part.needs]
                boots[runner.part.name] = pool.submit(_boot_after, needed, runner)
            try:
                wait(boots.values(), return_when=FIRST_EXCEPTION)
            finally:
                if not all(boot.done() and boot.exception() is None for boot in boots.values()):
                    self._halt.set()
        _raise_first([boot.exception() for boot in boots.values()])

    def _changed(self, state: PartState) -> None:
        self._on_change(state)
        self._publish()

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._publish()

    def _publish(self) -> None:
        with self._writing:
            states = tuple(runner.state for runner in self._runners)
            state = StackState(own_process(), self._phase, self.addresses(), states)
            write_state(self._settings.data.absolute(), state)

    def _running_site(self) -> Site:
        if self._site is None:
            raise NotRunning("the stack is not started", hint="call start() first, or use it in a with statement")
        return self._site

    def _runner(self, name: str) -> Runner:
        for runner in self._runners:
            if runner.part.name == name:
                return runner
        names = ", ".join(runner.part.name for runner in self._runners) or "none"
        raise UsageError(f"the stack has no part {name!r}", hint=f"its parts: {names}")


def _check_system() -> None:
    """Require Linux: only there can processes be guaranteed not to outlive their stack."""
    if sys.platform != "linux":
        raise LocalError(
            "the local stack runs on Linux only",
            hint="elsewhere name a cluster with PENSTOCK_BOOTSTRAP and PENSTOCK_REGISTRY",
        )


def _facts(options: StackOptions) -> Facts:
    mode = "secure" if options.secure else "open"
    return {"kafka": kafka.VERSION, "postgres": postgres.VERSION, "brokers": str(options.brokers), "mode": mode}


def addresses_in(settings: Settings) -> dict[str, str]:
    """Return the systems' addresses, by setting name."""
    return {
        "bootstrap": settings.bootstrap,
        "registry": settings.registry,
        "database": settings.database.get_secret_value(),
        "connect": settings.connect,
    }


def _boot_after(needed: Sequence[Future[None]], runner: Runner) -> None:
    for boot in needed:
        boot.result()
    runner.boot()


def _raise_first(errors: Sequence[BaseException | None]) -> None:
    """Raise the first real error. Parts halted because of a failure do not count."""
    real = [error for error in errors if error is not None and not isinstance(error, Halted)]
    if real:
        raise real[0]


def _waves(runners: Sequence[Runner]) -> list[list[Runner]]:
    """Group the parts by dependency level: parts without needs first."""
    depth: dict[str, int] = {}
    for runner in runners:
        depth[runner.part.name] = 1 + max((depth[name] for name in runner.part.needs), default=0)
    return [
        [runner for runner in runners if depth[runner.part.name] == level]
        for level in range(1, max(depth.values(), default=0) + 1)
    ]


def _stop_together(wave: Sequence[Runner]) -> None:
    for runner in wave:
        runner.ask_to_stop()
    for runner in wave:
        runner.await_stop()
