"""An action of one's own: counts the tags that are added, and prints the counts after every few events."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.action import Action
from penstock.actions.context import PipelineContext
from penstock.events.envelope import EventEnvelope


class TagCountsConfig(BaseModel):
    """How many events are counted together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: int = Field(100, ge=1, description="events")


class TagCounts(Action):
    """Counts tags that are added, by their names."""

    Config: ClassVar[type[BaseModel]] = TagCountsConfig

    def __init__(self, config: TagCountsConfig) -> None:
        self._every = config.every
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - every action gets it
        """Count as the config says."""
        return cls(TagCountsConfig.model_validate(config))

    def act(self, event: EventEnvelope) -> None:
        """Count one event; with `concurrency` this is called on several threads at once."""
        tag = event.event.parameters["tagUrn"].rpartition(":")[2]
        with self._lock:
            self._counts[tag] += 1
            if self._counts.total() % self._every == 0:
                self._print()

    def close(self) -> None:
        """Print the last counts."""
        self._print()

    def _print(self) -> None:
        print(", ".join(f"{tag} {count}" for tag, count in self._counts.most_common()), flush=True)
