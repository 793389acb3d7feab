"""What the parts of one consumer share."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import RLock

from confluent_kafka import Consumer as Handle

from penstock.kafka.progress import Progress


@dataclass(frozen=True)
class Session:
    """The connection, and the account kept of it; whoever holds `lock` may poll and change the account.

    `failures` are what went wrong where nobody waited for it, to be raised when the caller comes back.
    """

    handle: Handle
    group: str | None
    user: str = ""
    progress: Progress = field(default_factory=Progress)
    failures: deque[Exception] = field(default_factory=deque)
    lock: RLock = field(default_factory=RLock)
