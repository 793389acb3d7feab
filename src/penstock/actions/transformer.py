"""The seam for transformers: what events become between the filters and the action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from penstock.actions.context import PipelineContext
from penstock.events.envelope import EventEnvelope


class Transformer(ABC):
    """One step of one pipeline; called like its action, and an error fails the event in the same way.

    A class without this base serves as well, if it has `create` and `transform`.
    """

    Config: ClassVar[type[BaseModel] | None] = None
    """What `config` must be, if a model is given: mistakes are then told with their line, before anything runs."""

    @classmethod
    @abstractmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """The transformer for this `config`, which fits `Config` where there is one."""

    @abstractmethod
    def transform(self, event: EventEnvelope) -> EventEnvelope | None:
        """The event as the next step gets it, which may be the same one, changed; None drops it, and it is done."""
