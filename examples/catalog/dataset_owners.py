"""A transformer of one's own: adds the owners that the catalog knows to events about a dataset."""

from __future__ import annotations

from typing import Any, Self

from penstock.actions.context import PipelineContext
from penstock.actions.transformer import Transformer
from penstock.catalog.database import Database
from penstock.catalog.find.dataset import owners
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope

NOBODY = "nobody owns this"


class WithOwners(Transformer):
    """Sets `owners` to a list of names."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - every transformer gets it
        """Ask the catalog in the database that the settings name."""
        return cls(ctx.settings)

    def transform(self, event: EventEnvelope) -> EventEnvelope:
        """The event with its dataset's owners; the event is tried again if the catalog is away."""
        with Database(self._settings) as database, database.transaction() as connection:
            found = [row["owner"] for row in owners(connection, event.event.entityUrn) if row["counts"]]
        event.event.data["owners"] = found or [NOBODY]
        return event
