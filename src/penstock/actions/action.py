"""Interface of actions. An action handles every event left after filters and transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from penstock.actions.context import PipelineContext
from penstock.events.envelope import EventEnvelope


class Action(ABC):
    """Action of one pipeline.

    `create` is called once, before the first event. `act` is called for one event at a time, or on several threads at
    once if the pipeline's `concurrency` is more than 1. With `ordering: key` (the default), two events with equal keys
    never run at once. `close` is called once, after the last `act` has returned or its time limit has expired.

    An error from `act` fails the event, not the pipeline. The event is retried up to `retry_count` times, and each
    attempt gets the event as read. With `retry_on: transient`, only transient errors are retried. `failure_mode`
    applies to an event that still fails: CONTINUE stores the event and proceeds, THROW ends the pipeline.

    Deriving from this class is optional: any class with `create` and `act` works. `close` may be missing.
    """

    Config: ClassVar[type[BaseModel] | None] = None
    """Model of `config`, or None. With a model, mistakes are reported with their line before anything runs."""

    @classmethod
    @abstractmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the action from `config`, which has been checked against `Config`, if defined."""

    @abstractmethod
    def act(self, event: EventEnvelope) -> object:
        """Handle one event. None or True: the event is done. False: done after `ctx.event_source.ack(event)`."""

    def close(self) -> None:  # noqa: B027 - most actions hold no resources
        """Release the resources acquired by `create`. An error here is logged."""
