"""`filter`: let only some events pass, after the preceding transformers have done their work."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from penstock.actions.context import PipelineContext
from penstock.actions.filter import Filter
from penstock.actions.filters import compile_filter
from penstock.actions.transformer import Transformer
from penstock.config.yaml_file import KeyPath
from penstock.errors import ConfigError
from penstock.events.envelope import EventEnvelope


class FilterConfig(BaseModel):
    """Keys and rules of a pipeline's `filter:`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_type: str | list[str] | None = None
    event: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        paths: list[KeyPath] = []

        def note(path: KeyPath) -> str:
            paths.append(path)
            return ""

        try:
            compile_filter(self.model_dump(), place=note)
        except ConfigError as error:
            raise _placed(error, paths) from None
        return self


class FilterEvents(Transformer):
    """Drops events that do not match. Dropped events are done."""

    Config: ClassVar[type[BaseModel]] = FilterConfig

    def __init__(self, wanted: Filter) -> None:
        self._matches = wanted.matches

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the transformer from `config`."""
        return cls(compile_filter(config, ctx=ctx))

    def transform(self, event: EventEnvelope) -> EventEnvelope | None:
        """Return the event, or None if the filter does not match."""
        return event if self._matches(event) else None


def _placed(error: ConfigError, paths: list[KeyPath]) -> ValidationError:
    """Return the filter's problems as pydantic errors, each with its own line."""
    details: list[InitErrorDetails] = [
        {"type": PydanticCustomError("filter", _escaped(problem.message)), "loc": path[1:], "input": None}
        for problem, path in zip(error.problems, paths, strict=True)
    ]
    return ValidationError.from_exception_data("filter", details)


def _escaped(message: str) -> Any:  # noqa: ANN401 - pydantic wants a literal
    """Remove the leading path, which pydantic adds again, and braces, which pydantic would fill in."""
    return message.partition(": ")[2].replace("{", "(").replace("}", ")")
