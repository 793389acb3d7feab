"""`hello_world`: print every event, to check that a pipeline works."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.action import Action
from penstock.actions.context import PipelineContext
from penstock.config.printable import printable_lines
from penstock.events.envelope import EventEnvelope


class HelloWorldConfig(BaseModel):
    """Output options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to_upper: bool = Field(default=False, description="in capitals")


class HelloWorld(Action):
    """Prints the envelope as JSON."""

    Config: ClassVar[type[BaseModel]] = HelloWorldConfig

    def __init__(self, config: HelloWorldConfig) -> None:
        self._config = config

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:  # noqa: ARG003 - the interface's signature
        """Create the action from `config`."""
        return cls(HelloWorldConfig.model_validate(config))

    def act(self, event: EventEnvelope) -> None:
        """Print one event."""
        message = event.as_json()
        shown = printable_lines(message.upper() if self._config.to_upper else message)
        sys.stdout.write(f"Hello world! Received event:\n{shown}\n")
