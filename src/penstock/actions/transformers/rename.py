"""`rename`: move fields to another name or place."""

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
    """Which fields, and what they are called then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[FieldPath, FieldPath] = Field(min_length=1, description="old path: new path")


class Rename(Transformer):
    """Moves each field from its old path to its new one; those that are not there are left alone."""

    Config: ClassVar[type[BaseModel]] = RenameConfig

    def __init__(self, config: RenameConfig) -> None:
        self._fields = config.fields

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the seam's signature
        """Rename as the config says."""
        return cls(RenameConfig.model_validate(config))

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """The event with the fields at their new places; two can be swapped, since all are taken before one is put."""
        body = body_of(event)
        found = {old: next(values_at(body, old), MISSING) for old in self._fields}
        moved = {old: value for old, value in found.items() if value is not MISSING}
        without = with_changes(event, [(old, becomes(MISSING)) for old in moved])
        return with_changes(without, [(self._fields[old], becomes(value)) for old, value in moved.items()])
