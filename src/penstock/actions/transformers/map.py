"""`map`: compute fields from other fields, with expressions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.context import PipelineContext
from penstock.actions.expressions import scope_of
from penstock.actions.expressions.field import ExpressionField
from penstock.actions.transformer import Transformer
from penstock.actions.transformers.editing import FieldPath, becomes, with_body, with_changes
from penstock.events.envelope import EventEnvelope


class MapConfig(BaseModel):
    """Fields and their expressions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[FieldPath, ExpressionField] = Field(min_length=1, description="path: expression")
    only: bool = Field(default=False, description="leave every other field out")


class Map(Transformer):
    """Sets each field to the value of its expression. All expressions see the event before any change of this step."""

    Config: ClassVar[type[BaseModel]] = MapConfig

    def __init__(self, config: MapConfig) -> None:
        self._fields = config.fields
        self._only = config.only

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the interface's signature
        """Create the transformer from `config`."""
        return cls(MapConfig.model_validate(config))

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """Return the event with the computed fields. TransformFailed names an expression without a value."""
        scope = scope_of(event)
        values = {path: expression(scope) for path, expression in self._fields.items()}
        start = with_body(event, {}) if self._only else event
        return with_changes(start, [(path, becomes(value)) for path, value in values.items()])
