"""What anything that runs tells of itself."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.errors import PenstockError
from penstock.events.dead_letter import told_time


@dataclass(frozen=True)
class LastError:
    """What went wrong last, whether or not it has passed since."""

    at: datetime
    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: PenstockError, at: datetime) -> LastError:
        """An error as it is told."""
        return cls(at, error.code, error.message, error.hint)

    def as_data(self) -> dict[str, str]:
        """As plain data, which JSON can hold."""
        return {"at": told_time(self.at), "code": self.code, "message": self.message, "hint": self.hint}


def told_place(now: datetime) -> dict[str, Any]:
    """Which process tells, and when."""
    return {"at": told_time(now), "host": socket.gethostname(), "pid": os.getpid()}
