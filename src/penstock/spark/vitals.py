"""What is known of a running query at one moment, as heartbeats and metrics tell it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from penstock.errors import PenstockError
from penstock.kafka.offsets import Offsets
from penstock.spark.position import distance, nested

QueryStage = Literal["starting", "running", "waiting", "stopped", "finished", "failed"]


@dataclass(frozen=True)
class LastBatch:
    """The newest batch: when it was done, its messages, and its time in all and in parts."""

    at: datetime
    read: int
    refused: int
    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.read / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class LastError:
    """What went wrong last, whether or not the query has recovered since."""

    at: datetime
    code: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: PenstockError, at: datetime) -> LastError:
        """An error as it is told."""
        return cls(at, error.code, error.message, error.hint)


@dataclass(frozen=True)
class Vitals:
    """One query: where it stands, how fast it goes, how far behind it is, and what went wrong last."""

    pipeline: str
    sink: str
    stage: QueryStage
    started_at: datetime
    restarts: int
    batches: int
    read: int
    refused: int
    position: Offsets
    last_batch: LastBatch | None = None
    last_error: LastError | None = None
    owner: str = ""

    @property
    def name(self) -> str:
        """The query's name."""
        return f"{self.pipeline}.{self.sink}"

    def lag(self, ends: Offsets) -> int:
        """How many messages are still to be read."""
        return distance(self.position, {place: end for place, end in ends.items() if place in self.position})

    def as_data(self, ends: Offsets, now: datetime) -> dict[str, Any]:
        """As plain data, which JSON can hold."""
        return {
            "pipeline": self.pipeline,
            "sink": self.sink,
            "owner": self.owner,
            "stage": self.stage,
            "at": told_time(now),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_at": told_time(self.started_at),
            "restarts": self.restarts,
            "batches": self.batches,
            "read": self.read,
            "refused": self.refused,
            "lag": self.lag(ends),
            "position": nested(self.position),
            "last_batch": _batch_data(self.last_batch) if self.last_batch else None,
            "last_error": _error_data(self.last_error) if self.last_error else None,
        }


def _batch_data(batch: LastBatch) -> dict[str, Any]:
    return {
        "at": told_time(batch.at),
        "read": batch.read,
        "refused": batch.refused,
        "seconds": round(batch.seconds, 3),
        "rate": round(batch.rate, 1),
        "parts": {name: round(seconds, 3) for name, seconds in batch.parts.items()},
    }


def _error_data(error: LastError) -> dict[str, Any]:
    return {"at": told_time(error.at), "code": error.code, "message": error.message, "hint": error.hint}


def told_time(moment: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
