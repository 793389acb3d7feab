"""The one shape of everything that the stack runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

Ports = Mapping[str, int]
"""The ports that a part opens, by the setting that names each (`ports.kafka`)."""


def nothing() -> None:
    """A step that a part does not need."""


@dataclass(frozen=True)
class Account:
    """The user that a part runs as; `read_anywhere` lets it walk through closed directories on its way."""

    uid: int
    gid: int
    read_anywhere: bool = False


@dataclass(frozen=True)
class Part:
    """One process: how it is prepared, run, known to be ready, and stopped.

    `prepare` runs before the process and `settle` once it is ready; both are safe to repeat. The parts named in
    `needs` are settled before `prepare` begins, and are stopped after this one.
    """

    name: str
    version: str
    address: str
    command: tuple[str, ...]
    log: Path
    is_ready: Callable[[], bool]
    ports: Ports = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    prepare: Callable[[], None] = nothing
    settle: Callable[[], None] = nothing
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL
    patience: float = 120.0


class Condition(StrEnum):
    """What can be said of a part."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"
    STOPPING = "stopping"
    STOPPED = "stopped"
