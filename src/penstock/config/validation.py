"""Convert pydantic's validation errors to problems with a position in the user's file and a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from penstock.config.suggest import did_you_mean
from penstock.config.yaml_file import KeyPath, YamlFile
from penstock.errors import ConfigError, Problem

_FOLLOWS = "default_factory_not_called"
"""A default that depends on an invalid value: the consequence of an error that is already reported."""

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], file: YamlFile) -> Model:
    """Return the file as a model. Raise a ConfigError with every problem and its line."""
    try:
        return model.model_validate(file.content)
    except ValidationError as error:
        raise ConfigError(problems(error, model, file.place)) from None


def problems(
    error: ValidationError, model: type[BaseModel], place: Callable[[KeyPath], str], prefix: KeyPath = ()
) -> list[Problem]:
    """Return every validation error as a problem; an unknown key comes with the closest known key.

    `prefix` is the key path of the model in the file.
    """
    known = set(_field_names(model))
    found = (item for item in error.errors() if item["type"] != _FOLLOWS)
    return [_problem((*prefix, *item["loc"]), item["type"], item["msg"], known, place) for item in found]


def _problem(path: KeyPath, kind: str, message: str, known: set[str], place: Callable[[KeyPath], str]) -> Problem:
    name = ".".join(map(str, path))
    if kind == "extra_forbidden":
        return Problem(place(path), f"{name} is not a setting", did_you_mean(str(path[-1]), sorted(known), ""))
    text = message.removeprefix("Value error, ")
    return Problem(place(path), f"{name}: {text[:1].lower()}{text[1:]}")


def _field_names(annotation: Any) -> Iterator[str]:  # noqa: ANN401 - annotations are of any type
    """Yield the names of all fields of a model, including nested models."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield field.alias or name
            yield from _field_names(field.annotation)
    for inner in get_args(annotation):
        yield from _field_names(inner)
