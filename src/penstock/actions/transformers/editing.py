"""Changes to an event at a path, in a copy: other attempts and steps see the unchanged event."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import msgspec
from pydantic import StringConstraints

from penstock.actions.body import body_of
from penstock.actions.filters.lookup import ANY, MISSING, opened
from penstock.errors import TransformFailed
from penstock.events.envelope import EventEnvelope
from penstock.events.fields import as_plain
from penstock.events.metadata import event_class

FieldPath = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""Field name or path: `parameters.owners.0.name`, `tags.*`."""

Change = Callable[[object], object]
"""Function from the old value to the new value. MISSING represents a missing value, before and after."""


def becomes(value: object) -> Change:
    """Return the change to a fixed value. MISSING drops the old value."""
    return lambda _old: value


def with_body(event: EventEnvelope, body: dict[str, Any]) -> EventEnvelope:
    """Return the envelope with different content."""
    made = copy.copy(event)
    made.event = event_class(event.event_type)(body)
    return made


def with_changes(event: EventEnvelope, changes: Iterable[tuple[str, Change]]) -> EventEnvelope:
    """Return the event with each change applied at the given path, in order."""
    body: Any = body_of(event)
    for path, change in changes:
        body = edited(body, [path] if path in body else path.split("."), change, path)
    return with_body(event, body)


def edited(value: Any, steps: list[str], change: Change, path: str) -> Any:  # noqa: ANN401 - values of any type are walked
    """Return a copy with a change at the end of the steps. Text with JSON is parsed, and encoded again."""
    if not steps:
        return change(value)
    if isinstance(value, str | bytes):
        inside = opened(value)
        return value if isinstance(inside, str | bytes) else _closed(edited(inside, steps, change, path), value)
    if isinstance(value, dict | list):
        return _put(value, [(key, edited(old, steps[1:], change, path)) for key, old in _under(value, steps[0])])
    made = edited(MISSING, steps[1:], change, path)
    if made is MISSING or steps[0] == ANY:
        return value
    if value is not None and value is not MISSING:
        raise TransformFailed(f"{path}: {steps[0]} cannot be set in a {type(value).__name__}")
    return {steps[0]: made}


def _under(value: dict[str, Any] | list[Any], step: str) -> Iterator[tuple[Any, object]]:
    """Yield the keys selected by a step, each with its value."""
    if isinstance(value, dict):
        yield from value.items() if step == ANY and ANY not in value else [(step, value.get(step, MISSING))]
    elif step == ANY:
        yield from enumerate(value)
    elif step.isdecimal() and int(step) < len(value):
        yield int(step), value[int(step)]


def _put(value: dict[str, Any] | list[Any], changed: list[tuple[Any, object]]) -> object:
    made: Any = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    for key, item in changed:
        if item is MISSING:
            made.pop(key, None)
        else:
            made[key] = item
    return made if isinstance(value, dict) else list(made.values())


def _closed(value: object, like: str | bytes) -> str | bytes:
    data = msgspec.json.encode(as_plain(value))
    return data.decode() if isinstance(like, str) else data
