"""The seam for actions: what is done with every event that passed the filters and transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from penstock.actions.context import PipelineContext
from penstock.events.envelope import EventEnvelope


class Action(ABC):
    """One action of one pipeline.

    `create` is called once, before the first event. `act` is called for one event at a time, or on several threads at
    once where the pipeline's `concurrency` is more than 1, never for two events of one key at once. `close` is called
    once, after the last `act` has returned or the time limit for that is over.

    An error from `act` fails the event, not the pipeline. The event is retried up to `retry_count` times, and each
    attempt gets the event as it was read. With `retry_on: transient` only errors that may pass are retried. An event
    that still fails is handled as `failure_mode` says.

    A class without this base serves as well, if it has `create`, `act` and `close`.
    """

    Config: ClassVar[type[BaseModel] | None] = None
    """What `config` must be, if a model is given: mistakes are then told with their line, before anything runs."""

    @classmethod
    @abstractmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """The action for this `config`, which fits `Config` where there is one."""

    @abstractmethod
    def act(self, event: EventEnvelope) -> object:
        """Do it. None or True: the event is done. False: it is done when `ctx.event_source.ack(event)` says so."""

    def close(self) -> None:  # noqa: B027 - most actions hold nothing
        """Let go of what `create` took; an error here is logged."""
