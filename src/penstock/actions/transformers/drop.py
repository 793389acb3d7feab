"""`drop`: remove fields, such as secrets and personal data."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.context import PipelineContext
from penstock.actions.filters.lookup import MISSING
from penstock.actions.transformer import Transformer
from penstock.actions.transformers.editing import FieldPath, becomes, with_changes
from penstock.events.envelope import EventEnvelope


class DropConfig(BaseModel):
    """Fields to drop."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: list[FieldPath] = Field(min_length=1, description="paths")


class Drop(Transformer):
    """Drops fields. Missing fields are ignored."""

    Config: ClassVar[type[BaseModel]] = DropConfig

    def __init__(self, config: DropConfig) -> None:
        self._changes = [(path, becomes(MISSING)) for path in config.fields]

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the interface's signature
        """Create the transformer from `config`."""
        return cls(DropConfig.model_validate(config))

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """Return the event without the fields."""
        return with_changes(event, self._changes)
