"""Interface of transformers. A transformer changes events between the filters and the action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from penstock.actions.context import PipelineContext
from penstock.events.envelope import EventEnvelope


class Transformer(ABC):
    """One step of one pipeline. Calls follow the rules of `Action`, and an error fails the event in the same way.

    Deriving from this class is optional: any class with `create` and `transform` works.
    """

    Config: ClassVar[type[BaseModel] | None] = None
    """Model of `config`, or None. With a model, mistakes are reported with their line before anything runs."""

    @classmethod
    @abstractmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the transformer from `config`, which has been checked against `Config`, if defined."""

    @abstractmethod
    def transform(self, event: EventEnvelope) -> EventEnvelope | None:
        """Return the event for the next step, new or changed in place. None drops the event, which is then done."""
