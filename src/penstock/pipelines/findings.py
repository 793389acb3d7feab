"""Collecting everything that is wrong with a file, each with its place, instead of stopping at the first."""

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
    """The problems of one file so far."""

    def __init__(self, file: YamlFile) -> None:
        self.problems: list[Problem] = []
        self._file = file

    def add(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note a problem at a place of the file."""
        self.problems.append(Problem(self._file.place(path), f"{_dotted(path)}: {message}", hint))

    def model(self, model: type[Model], value: object, path: KeyPath = ()) -> Model | None:
        """A value of the file as a model, or None once its problems are noted."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.problems += problems(error, model, self._file.place, path)
            return None

    @contextmanager
    def at(self, path: KeyPath) -> Iterator[None]:
        """Note what a person has to fix as a problem at this place; what passes by itself is raised."""
        try:
            yield
        except ConfigError as error:
            for problem in error.problems:
                self.add(path, problem.message, problem.hint)
        except Terminal as error:
            self.add(path, error.message, error.hint)

    def refuse(self) -> None:
        """Raise everything that was found, if anything was, beside what is wrong with the file itself."""
        if wrong := self._file.with_others(self.problems):
            raise ConfigError(wrong)


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))
