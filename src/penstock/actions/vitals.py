"""Status snapshot of a running pipeline, for health, metrics, heartbeats and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from penstock.actions.tally import Counts, total
from penstock.events.dead_letter import told_time
from penstock.events.record import Origin
from penstock.events.vitals import LastError, told_place
from penstock.kafka.offsets import Offsets, PartitionId, nested

Stage = Literal["starting", "running", "stopped", "finished", "failed"]


@dataclass(frozen=True)
class InWork:
    """Event in work for the longest time."""

    origin: Origin
    seconds: float


@dataclass(frozen=True)
class Vitals:
    """Status of one pipeline in one process: event counts, lag, and events in work.

    `unheard` is the number of seconds since the last report of the process.
    """

    pipeline: str
    worker: int
    stage: Stage
    started_at: datetime
    counts: Mapping[str, Counts] = field(default_factory=dict)
    lag: Mapping[PartitionId, int] = field(default_factory=dict)
    position: Offsets = field(default_factory=dict)
    held: int = 0
    in_work: int = 0
    oldest: InWork | None = None
    stuck_after: float = 300.0
    waits_for_acks: bool = False
    unheard: float = 0.0
    is_connected: bool = True
    last_error: LastError | None = None

    @property
    def trouble(self) -> str | None:
        """Reason why the pipeline needs attention: dead or stuck. None if the pipeline is healthy."""
        if self.stage == "failed":
            return f"dead: {self.last_error.message if self.last_error else 'it failed'}"
        if self.unheard >= self.stuck_after:
            return f"stuck: its process has not been heard of for {self.unheard:.0f} s"
        if self.oldest is not None and self.oldest.seconds >= self.stuck_after:
            return f"stuck: {self.oldest.origin} is in work for {self.oldest.seconds:.0f} s"
        if self.waits_for_acks:
            return f"stuck: {self.held:,} events wait for their action to acknowledge them"
        return None if self.is_connected else "stuck: no broker answers"

    def as_data(self, now: datetime) -> dict[str, Any]:
        """Return the status as plain data for JSON."""
        counted = total(self.counts.values())
        return {
            "pipeline": self.pipeline,
            "kind": "action",
            "worker": self.worker,
            "stage": self.stage,
            **told_place(now),
            "started_at": told_time(self.started_at),
            "read": counted.received,
            "filtered": counted.filtered,
            "done": counted.done,
            "failed": counted.failed,
            "retried": counted.retried,
            "in_work": self.in_work,
            "lag": sum(self.lag.values()),
            "position": nested(self.position),
            "trouble": self.trouble,
            "last_error": self.last_error.as_data() if self.last_error else None,
        }
