"""What an action or a transformer may know of the pipeline that it is part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from penstock.config import Settings
from penstock.events.envelope import EventEnvelope


class EventSource(Protocol):
    """Where the events of a pipeline come from."""

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:
        """An event that `act` answered with False is done; on any thread, in any order, also twice.

        Its offset is committed when all events before it in its partition are done as well. With `processed=False`
        nothing happens.
        """
        ...


@dataclass(frozen=True)
class PipelineContext:
    """The pipeline's name, its source, and the settings of clients for the cluster and registry that it reads from."""

    pipeline_name: str
    event_source: EventSource
    settings: Settings
    graph: Any = None
    """Always None: it is DataHub's own client there, which classes written for it may look for."""
