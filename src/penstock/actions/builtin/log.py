"""`log`: write a line to the log for every event."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.action import Action
from penstock.actions.context import PipelineContext
from penstock.actions.expressions import scope_of
from penstock.actions.expressions.field import TemplateField
from penstock.events.envelope import EventEnvelope


class LogConfig(BaseModel):
    """Level and text of the log line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="the line's level")
    message: TemplateField | None = Field(None, description="a template; default: the envelope as JSON")


class Log(Action):
    """Logs each event to the logger `penstock.actions.log.<pipeline>`."""

    Config: ClassVar[type[BaseModel]] = LogConfig

    def __init__(self, config: LogConfig, logger: logging.Logger) -> None:
        self._level = logging.getLevelNamesMapping()[config.level.upper()]
        self._message = config.message
        self._logger = logger

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the action from `config`."""
        return cls(LogConfig.model_validate(config), logging.getLogger(f"penstock.actions.log.{ctx.pipeline_name}"))

    def act(self, event: EventEnvelope) -> None:
        """Log one event."""
        line = self._message(scope_of(event)) if self._message else event.as_json()
        self._logger.log(self._level, "%s", line)
