"""User's filter class, as in DataHub: `create(config, ctx)` and `matches(event)`."""

from __future__ import annotations

from typing import Any

from penstock.actions.context import PipelineContext
from penstock.actions.datahub import create_plugin
from penstock.events.envelope import EventEnvelope


class UserFilter:
    """Filter backed by a user's object. The object is created with the pipeline, not while a file is only checked."""

    def __init__(self, filter_class: Any, config: dict[str, Any], ctx: PipelineContext | None) -> None:  # noqa: ANN401 - any class with the methods
        self._made: Any = None if ctx is None else create_plugin(filter_class, config, ctx)

    def matches(self, event: EventEnvelope) -> bool:
        """Return the result of the user's filter."""
        return bool(self._made.matches(event))

    def event_types(self) -> None:
        """Return None: the class does not declare its types."""

    def may_match(self, event_type: str, data: bytes) -> bool:  # noqa: ARG002 - the interface's signature
        """Return True: the class needs decoded events."""
        return True
