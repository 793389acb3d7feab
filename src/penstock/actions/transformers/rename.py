"""`rename`: move fields to a new name or path."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.body import body_of
from penstock.actions.context import PipelineContext
from penstock.actions.filters.lookup import MISSING, values_at
from penstock.actions.transformer import Transformer
from penstock.actions.transformers.editing import FieldPath, becomes, with_changes
from penstock.events.envelope import EventEnvelope


class RenameConfig(BaseModel):
    """Fields and their new paths."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[FieldPath, FieldPath] = Field(min_length=1, description="old path: new path")


class Rename(Transformer):
    """Moves each field from the old path to the new path. Missing fields are ignored."""

    Config: ClassVar[type[BaseModel]] = RenameConfig

    def __init__(self, config: RenameConfig) -> None:
        self._fields = config.fields

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the interface's signature
        """Create the transformer from `config`."""
        return cls(RenameConfig.model_validate(config))

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """Return the event with moved fields. Values are read before any is written, so two fields can be swapped."""
        body = body_of(event)
        found = {old: next(values_at(body, old), MISSING) for old in self._fields}
        moved = {old: value for old, value in found.items() if value is not MISSING}
        without = with_changes(event, [(old, becomes(MISSING)) for old in moved])
        return with_changes(without, [(self._fields[old], becomes(value)) for old, value in moved.items()])
