"""Status fields shared by pipelines and queries."""

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
    """Most recent error, whether resolved or not."""

    at: datetime
    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: PenstockError, at: datetime) -> LastError:
        """Return the status entry of an error."""
        return cls(at, error.code, error.message, error.hint)

    def as_data(self) -> dict[str, str]:
        """Return the error as plain data for JSON."""
        return {"at": told_time(self.at), "code": self.code, "message": self.message, "hint": self.hint}


def told_place(now: datetime) -> dict[str, Any]:
    """Return the reporting process and the time of the report."""
    return {"at": told_time(now), "host": socket.gethostname(), "pid": os.getpid()}
