"""Context of an action or a transformer: its pipeline, source and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from penstock.config import Settings
from penstock.events.envelope import EventEnvelope


class EventSource(Protocol):
    """Source of a pipeline's events."""

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:
        """Mark an event as done after `act` returned False. Callable on any thread, in any order, and repeatedly.

        The offset is committed after all earlier events of the partition are done as well. With `processed=False`,
        nothing happens.
        """
        ...


@dataclass(frozen=True)
class PipelineContext:
    """Name and source of the pipeline, and client settings for the source's cluster and registry."""

    pipeline_name: str
    event_source: EventSource
    settings: Settings
    connect_graph: Callable[[], Any] | None = field(default=None, repr=False)
    """Connects to DataHub's server; None if the file has no `datahub:` section."""

    @cached_property
    def graph(self) -> Any:  # noqa: ANN401 - a DataHub class
        """DataHub's own client, connected on first use; None without DataHub's package or a `datahub:` section."""
        return None if self.connect_graph is None else self.connect_graph()
