"""State shared by the parts of one consumer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import RLock

from confluent_kafka import Consumer as Handle

from penstock.kafka.progress import Progress


@dataclass(frozen=True)
class Session:
    """Handle and progress of a consumer. The holder of `lock` may poll and change the progress.

    `failures` are background errors, raised when the caller comes back.
    """

    handle: Handle
    group: str | None
    user: str = ""
    progress: Progress = field(default_factory=Progress)
    failures: deque[Exception] = field(default_factory=deque)
    lock: RLock = field(default_factory=RLock)
