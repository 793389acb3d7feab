"""Status snapshot of a running query, published as heartbeats and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from penstock.events.dead_letter import told_time
from penstock.events.vitals import LastError, told_place
from penstock.kafka.offsets import Offsets, nested
from penstock.spark.queries.position import distance

QueryStage = Literal["starting", "running", "waiting", "stopped", "finished", "failed"]


@dataclass(frozen=True)
class LastBatch:
    """Newest batch: completion time, number of messages, and duration in total and per step."""

    at: datetime
    read: int
    refused: int
    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.read / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Vitals:
    """Status of a query: position, throughput, lag and last error.

    `underway` is the number of messages in the batch being written.
    """

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
    underway: int = 0

    @property
    def name(self) -> str:
        """The query's name."""
        return f"{self.pipeline}.{self.sink}"

    def lag(self, ends: Offsets) -> int:
        """Return the number of messages still to be read."""
        return distance(self.position, {place: end for place, end in ends.items() if place in self.position})

    def as_data(self, ends: Offsets, now: datetime) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "pipeline": self.pipeline,
            "sink": self.sink,
            "owner": self.owner,
            "stage": self.stage,
            **told_place(now),
            "started_at": told_time(self.started_at),
            "restarts": self.restarts,
            "batches": self.batches,
            "read": self.read,
            "refused": self.refused,
            "underway": self.underway,
            "lag": self.lag(ends),
            "position": nested(self.position),
            "last_batch": _batch_data(self.last_batch) if self.last_batch else None,
            "last_error": self.last_error.as_data() if self.last_error else None,
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
