"""A filter class of the user's own, as DataHub has them: `create(config, ctx)` and `matches(event)`."""

from __future__ import annotations

from typing import Any

from penstock.actions.context import PipelineContext
from penstock.actions.datahub import create_plugin
from penstock.events.envelope import EventEnvelope


class UserFilter:
    """Asks the user's object, which is made with its pipeline, and not when a file is only checked."""

    def __init__(self, filter_class: Any, config: dict[str, Any], ctx: PipelineContext | None) -> None:  # noqa: ANN401 - any class with the methods
        self._made: Any = None if ctx is None else create_plugin(filter_class, config, ctx)

    def matches(self, event: EventEnvelope) -> bool:
        """What the user's object says."""
        return bool(self._made.matches(event))

    def event_types(self) -> None:
        """Any: the class does not say."""

    def may_match(self, event_type: str, data: bytes) -> bool:  # noqa: ARG002 - the seam's signature
        """Always: the class sees decoded events only."""
        return True
