"""Catalogue of the actions, transformers and filters available for `type:`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from penstock.actions.registry import ACTIONS, FILTERS, TRANSFORMERS, Kind, find_class
from penstock.errors import UsageError

BUILT_IN = "built in"


class Offer(NamedTuple):
    """Available type with its source and summary. For an unusable type, the summary is the reason."""

    kind: str
    name: str
    source: str
    summary: str


class Key(NamedTuple):
    """One key of a plugin's `config:`."""

    name: str
    default: str
    description: str


def offers() -> Iterator[Offer]:
    """Yield all built-in and installed types. Names with a leading underscore, kept for old files, are skipped."""
    for kind in (ACTIONS, TRANSFORMERS, FILTERS):
        for name in (name for name in kind.builtin if not name.startswith("_")):
            yield Offer(kind.name, name, BUILT_IN, _summary(kind, name))
        for name, place in kind.entry_points().items():
            if name not in kind.builtin:
                yield Offer(kind.name, name, place, _summary(kind, name))
    yield Offer(FILTERS.name, "event_type", BUILT_IN, "Wants events of certain types, each with its own content.")


def keys_of(type_name: str) -> list[Key]:
    """Return the config keys of a built-in type or an action class. Return an empty list without a `Config` model."""
    kind = next((kind for kind in (ACTIONS, TRANSFORMERS) if type_name in kind.builtin), ACTIONS)
    model = getattr(find_class(kind, type_name), "Config", None)
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        return []
    return [_key(field.alias or name, field) for name, field in model.model_fields.items()]


def _key(name: str, field: FieldInfo) -> Key:
    default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
    return Key(name, default, field.description or "")


def _shown(value: Any) -> str:  # noqa: ANN401 - defaults are of any type
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _summary(kind: Kind, name: str) -> str:
    try:
        text = inspect.getdoc(find_class(kind, name)) or ""
    except UsageError as error:
        return f"cannot be used: {error.message}"
    return text.partition("\n")[0]
