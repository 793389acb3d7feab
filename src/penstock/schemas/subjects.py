"""Subject names of a topic's schemas in the registry."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal

from penstock.errors import UsageError
from penstock.schemas.schema import Schema

Part = Literal["key", "value"]


class SubjectNaming(Enum):
    """Strategies for naming subjects. With `RECORD`, all topics of a record type share a subject."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic-record"


def subject_name(topic: str, schema: Schema, *, part: Part = "value", naming: SubjectNaming | str = "topic") -> str:
    """Return the subject of a topic's keys or values."""
    return _NAMINGS[_naming(naming)](topic, schema, part)


def _naming(naming: SubjectNaming | str) -> SubjectNaming:
    try:
        return SubjectNaming(naming)
    except ValueError:
        known = ", ".join(item.value for item in SubjectNaming)
        raise UsageError(f"{naming!r} is not a way to name subjects", hint=f"choose one of {known}") from None


def _record_name(schema: Schema) -> str:
    if schema.name is None:
        raise UsageError(
            "only a record, enum or fixed has a name to make a subject of",
            hint="name the subject by topic",
        )
    return schema.name


_NAMINGS: dict[SubjectNaming, Callable[[str, Schema, Part], str]] = {
    SubjectNaming.TOPIC: lambda topic, _schema, part: f"{topic}-{part}",
    SubjectNaming.RECORD: lambda _topic, schema, _part: _record_name(schema),
    SubjectNaming.TOPIC_RECORD: lambda topic, schema, _part: f"{topic}-{_record_name(schema)}",
}
