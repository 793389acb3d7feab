"""Run a function in a process of its own with a limit of CPU time, so that a hang fails one test only.

CPU time, since a busy machine must not fail a test; whoever waits instead of working is ended after ten times as long.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_WAITS = 10
_fork = multiprocessing.get_context("fork")


def within(seconds: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return what the function returns, or raise what it raises; TimeoutError if it takes longer."""
    here, there = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_run, args=(there, seconds, function, args, options))
    process.start()
    there.close()
    try:
        if not here.poll(_WAITS * seconds):
            raise TimeoutError(f"not done within {_WAITS * seconds} s")
        is_done, outcome = here.recv()
    except EOFError:
        raise TimeoutError(f"not done within {seconds} s of CPU time") from None
    finally:
        process.kill()
        process.join()
    if is_done:
        return outcome  # type: ignore[no-any-return]  # a pipe carries anything
    raise outcome


def _run(there: Connection, seconds: int, function: Callable[..., object], args: object, options: object) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        there.send((True, function(*args, **options)))  # type: ignore[misc, operator]  # as `within` got them
    except Exception as error:  # noqa: BLE001 - raised again by `within`
        there.send((False, error))
