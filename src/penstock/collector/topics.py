"""Topics that accept events, with parsed and checked schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.collector.config import CollectorSettings, TopicSettings
from penstock.collector.plain_types import RICH, is_text, plain_type
from penstock.collector.shape import EventShape
from penstock.config.yaml_file import KeyPath
from penstock.errors import ConfigError, Problem, SchemaSyntaxError
from penstock.events.record import TopicName
from penstock.schemas import Schema
from penstock.schemas.avro.model import RecordType

Place = Callable[[KeyPath], str]


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


@dataclass(frozen=True)
class Topic:
    """Topic with the shape of its events."""

    name: TopicName
    shape: EventShape


def load_topics(settings: CollectorSettings, place: Place = _dotted) -> dict[str, Topic]:
    """Return every topic by name. Raise a ConfigError that lists all problems of schemas and fields."""
    topics: dict[str, Topic] = {}
    problems: list[Problem] = []
    for name, topic in settings.topics.items():
        try:
            record = _record(topic.schema_file)
        except SchemaSyntaxError as error:
            problems.append(Problem(place(("collector", "topics", name, "schema")), error.message, error.hint))
            continue
        wrong = list(_field_problems(topic, record))
        problems += [Problem(place(("collector", "topics", name, key)), message) for key, message in wrong]
        if not wrong:
            shape = EventShape(record, key_field=topic.key, time_field=topic.time)
            topics[name] = Topic(TopicName(name), shape)
    if problems:
        raise ConfigError(problems)
    return topics


def _record(file: Path) -> RecordType:
    root = Schema.from_file(file).type
    if not isinstance(root, RecordType):
        raise SchemaSyntaxError(f"{file}: an event must be a record")
    return root


def _field_problems(topic: TopicSettings, record: RecordType) -> Iterator[tuple[str, str]]:
    types = {field.name: field.type for field in record.fields}
    for setting, field in (("key", topic.key), ("time", topic.time)):
        if field is not None and field not in types:
            yield setting, f"{field} is not a field of {record.name}: {', '.join(types)}"
    if topic.key in types and plain_type(types[topic.key]) is RICH:
        yield "key", f"{topic.key} must be a string, a number, a boolean or an enum to serve as key"
    if topic.time in types and not is_text(types[topic.time]):
        yield "time", f"{topic.time} must be a string to hold the time"
