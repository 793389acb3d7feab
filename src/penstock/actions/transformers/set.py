"""`set`: set fields to a fixed value."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.context import PipelineContext
from penstock.actions.transformer import Transformer
from penstock.actions.transformers.editing import FieldPath, with_changes
from penstock.events.envelope import EventEnvelope


class SetConfig(BaseModel):
    """Fields and their values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[FieldPath, Any] = Field(min_length=1, description="path: value")


class Set(Transformer):
    """Sets fields. Missing parent maps are created."""

    Config: ClassVar[type[BaseModel]] = SetConfig

    def __init__(self, config: SetConfig) -> None:
        self._changes = [(path, partial(_fixed, value)) for path, value in config.fields.items()]

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the interface's signature
        """Create the transformer from `config`."""
        return cls(SetConfig.model_validate(config))

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """Return the event with the fields set."""
        return with_changes(event, self._changes)


def _fixed(value: object, _old: object) -> object:
    """Return a copy: changing the value in one event must not change the value in all events."""
    return copy.deepcopy(value)
