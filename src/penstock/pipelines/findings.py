"""Collector for all problems of a file with positions, instead of stopping at the first problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from penstock.config.validation import problems
from penstock.config.yaml_file import KeyPath, YamlFile
from penstock.errors import ConfigError, Problem, Terminal

Model = TypeVar("Model", bound=BaseModel)


class Findings:
    """Problems found in a file so far."""

    def __init__(self, file: YamlFile) -> None:
        self.problems: list[Problem] = []
        self._file = file

    def add(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Record a problem at a position in the file."""
        self.problems.append(Problem(self._file.place(path), f"{_dotted(path)}: {message}", hint))

    def model(self, model: type[Model], value: object, path: KeyPath = ()) -> Model | None:
        """Validate a value as a model. Record the problems and return None if the value is invalid."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.problems += problems(error, model, self._file.place, path)
            return None

    @contextmanager
    def at(self, path: KeyPath) -> Iterator[None]:
        """Record configuration and terminal errors as problems at this position. Transient errors propagate."""
        try:
            yield
        except ConfigError as error:
            for problem in error.problems:
                self.add(path, problem.message, problem.hint)
        except Terminal as error:
            self.add(path, error.message, error.hint)

    def refuse(self) -> None:
        """Raise a ConfigError with all recorded problems and the file's own, if any."""
        if wrong := self._file.with_others(self.problems):
            raise ConfigError(wrong)


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))
