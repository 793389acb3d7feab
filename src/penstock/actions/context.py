"""What an action or a transformer may know of the pipeline that it is part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
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
    connect_graph: Callable[[], Any] | None = field(default=None, repr=False)
    """Connects to DataHub's server; None where the file has no `datahub:` section."""

    @cached_property
    def graph(self) -> Any:  # noqa: ANN401 - a class of DataHub's
        """DataHub's own client, connected when first used; None without its package or a `datahub:` section."""
        return None if self.connect_graph is None else self.connect_graph()
