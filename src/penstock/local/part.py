"""Common description of the processes in a stack."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

Ports = Mapping[str, int]
"""Ports opened by a part, keyed by setting name (`ports.kafka`)."""


def nothing() -> None:
    """Do nothing: default for unneeded steps."""


@dataclass(frozen=True)
class Account:
    """User account of a part. `read_anywhere` lets the part traverse closed directories."""

    uid: int
    gid: int
    read_anywhere: bool = False


@dataclass(frozen=True)
class Part:
    """Process: how to prepare, run and stop it, and how to detect readiness.

    `prepare` runs before the process starts and `settle` after it is ready; both are safe to repeat. Parts listed in
    `needs` are settled before `prepare` begins, and are stopped after this part.
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
    """Condition of a part."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"
    STOPPING = "stopping"
    STOPPED = "stopped"
