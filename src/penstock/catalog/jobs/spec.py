"""Parser of a job's properties: topics with processors and tables, and options for reading Kafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from penstock.catalog.jobs.kafka_properties import (
    ALLOWED,
    BOOTSTRAP,
    REGISTRY,
    is_own_cluster,
    names_own_files,
    objection,
)
from penstock.catalog.jobs.second_form import first_names
from penstock.catalog.processors import own_table
from penstock.catalog.staging.tables import TableName
from penstock.config.secrets import PassThrough
from penstock.config.suggest import did_you_mean
from penstock.errors import ConfigError, Problem

IdType = Literal["any", "int", "long", "uuid"]
Start = Literal["earliest", "latest"]

GROUP: Final = "group.id"
TOPICS: Final = "kafka.topics"
PROCESSORS: Final = "kafka.processors"
TABLES: Final = "kafka.db.tables"
TRIGGER: Final = "auto.commit.interval.ms"
ID_TYPE: Final = "schema.id.type"
START: Final = "auto.offset.reset"

_CONSUMER = "consumer."
_OWN_KEY_HINT = "give the job its own key as ssl.key.pem, or name the cluster in the settings"
_LISTS = (TOPICS, PROCESSORS, TABLES)
_KNOWN = (GROUP, REGISTRY, *_LISTS, TRIGGER, ID_TYPE, START)
_STARTS: dict[str, Start] = {"smallest": "earliest", "earliest": "earliest", "largest": "latest", "latest": "latest"}
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MAX_TRIGGER_MS = 86_400_000

ZOOKEEPER_NOTE: Final = "zookeeper.* is not used: Kafka has no ZooKeeper any more; bootstrap.servers names its brokers"
SCHEDULE_NOTE: Final = "job.* is not used: a job runs as long as `penstock jobs run` does"
PRODUCER_NOTE: Final = "kafka.producer.topic and producer.* are not used: refused messages go to the topic <job>.dead"
WORKER_NOTE: Final = "kafka.worker.count is not used: Spark's cores share the work"
_NOTES = {
    "zookeeper.": ZOOKEEPER_NOTE,
    "job.": SCHEDULE_NOTE,
    "kafka.producer.": PRODUCER_NOTE,
    "producer.": PRODUCER_NOTE,
    "kafka.worker.": WORKER_NOTE,
}
"""Prefixes of properties that are accepted but not used, with the reason."""


@dataclass(frozen=True)
class Route:
    """Topic with its processor, and the table for the processor's rows."""

    topic: str
    processor: str
    table: TableName


@dataclass(frozen=True)
class JobSpec:
    """Parsed job. `kafka` is passed to Kafka clients unchanged; `notes` explains unused properties."""

    group: str
    routes: tuple[Route, ...]
    registry: str | None = None
    trigger_ms: int = 1000
    id_type: IdType = "any"
    start: Start = "earliest"
    kafka: PassThrough = field(default_factory=PassThrough)
    notes: tuple[str, ...] = ()


def read_spec(
    properties: Mapping[str, str],
    env: Mapping[str, str],
    place: Callable[[str], str] = lambda key: key,
    *,
    own_cluster: str = "",
) -> JobSpec:
    """Parse the properties of a job. Raise ConfigError with every problem and its position.

    `own_cluster` is the `bootstrap` of the settings. Secrets of the process may be sent to this cluster only.
    """
    problems: list[Problem] = []
    given = first_names(properties)
    values = {key: properties[written] for key, written in given.items()}

    def written_at(key: str) -> str:
        return place(given.get(key, key))

    values = _Filling(env, own_cluster, written_at, problems).filled(values)
    reader = _Reader(values, written_at, problems, own_cluster)
    spec = JobSpec(
        group=reader.required(GROUP),
        routes=reader.routes(),
        registry=values.get(REGISTRY) or None,
        trigger_ms=reader.milliseconds(TRIGGER, 1000),
        id_type=reader.id_type(),
        start=reader.start(),
        kafka=PassThrough(reader.passed_on()),
        notes=tuple(reader.notes()),
    )
    if problems:
        raise ConfigError(problems)
    return spec


def _brokers(values: Mapping[str, str]) -> str:
    """Return the brokers that a job names, under either property."""
    return ",".join(values[name] for name in (BOOTSTRAP, f"{_CONSUMER}{BOOTSTRAP}") if values.get(name))


@dataclass(frozen=True)
class _Filling:
    """Replaces values that are exactly `$VAR` or `${VAR}` from the environment, where permitted."""

    env: Mapping[str, str]
    own_cluster: str
    place: Callable[[str], str]
    problems: list[Problem]

    def filled(self, properties: Mapping[str, str]) -> dict[str, str]:
        values = {key: self._value(value) for key, value in properties.items()}
        is_own = is_own_cluster(_brokers(values), self.own_cluster)
        for key, variable in self._variables(properties):
            if variable not in self.env:
                self._refuse(key, f"the environment has no {variable}", f"set {variable}")
            elif not key.startswith(tuple(_NOTES)) and (
                why := objection(key.removeprefix(_CONSUMER), variable, self.env[variable], own_cluster=is_own)
            ):
                self._refuse(key, why, "write the value itself, or name the cluster in the settings")
        return values

    def _variables(self, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        matches = ((key, _VARIABLE.fullmatch(value)) for key, value in properties.items())
        return ((key, match[1] or match[2]) for key, match in matches if match)

    def _value(self, value: str) -> str:
        match = _VARIABLE.fullmatch(value)
        return self.env.get(match[1] or match[2], "") if match else value

    def _refuse(self, key: str, message: str, hint: str) -> None:
        self.problems.append(Problem(self.place(key), f"{key}: {message}", hint))


@dataclass(frozen=True)
class _Reader:
    """Reads values by key, and records each problem with its position."""

    values: Mapping[str, str]
    place: Callable[[str], str]
    problems: list[Problem]
    own_cluster: str

    def required(self, key: str) -> str:
        if not self.values.get(key):
            self._wrong(key, f"{key} is missing")
        return self.values.get(key, "")

    def routes(self) -> tuple[Route, ...]:
        topics, processors = self._list(TOPICS), self._list(PROCESSORS)
        lists = [topics, processors, self._tables(processors)]
        lengths = [len(items) for items in lists]
        if len(set(lengths)) > 1:
            told = ", ".join(f"{key} has {length}" for key, length in zip(_LISTS, lengths, strict=True))
            self._wrong(TOPICS, f"the lists differ in length: {told}", "the first topic goes with the first of each")
            return ()
        for topic in lists[0]:
            if not _TOPIC.fullmatch(topic):
                self._wrong(TOPICS, f"{topic!r} is no name of a topic")
        if len(set(lists[0])) < len(lists[0]):
            self._wrong(TOPICS, "a topic is named twice", "a job reads each topic once")
        return tuple(Route(topic, name, TableName(table)) for topic, name, table in zip(*lists, strict=True))

    def _tables(self, processors: Sequence[str]) -> list[str]:
        """Return the named tables, or the default tables of the processors."""
        own = [own_table(name) for name in processors]
        return [table or "" for table in own] if TABLES not in self.values and all(own) else self._list(TABLES)

    def _list(self, key: str) -> list[str]:
        items = [item.strip() for item in self.required(key).split(",")]
        if self.values.get(key) and "" in items:
            self._wrong(key, f"{key} has an empty element")
        return items

    def milliseconds(self, key: str, default: int) -> int:
        text = self.values.get(key, str(default))
        if not text.isdecimal() or not 0 < int(text) <= _MAX_TRIGGER_MS:
            self._wrong(key, f"{key}: {text!r} is no number of milliseconds", f"from 1 to {_MAX_TRIGGER_MS:,}")
            return default
        return int(text)

    def id_type(self) -> IdType:
        text = self.values.get(ID_TYPE, "any").lower()
        for choice in get_args(IdType):
            if text == choice:
                return choice  # type: ignore[no-any-return] # get_args forgets the type
        self._wrong(ID_TYPE, f"{ID_TYPE}: {text!r} is no type of schema ids", f"one of {', '.join(get_args(IdType))}")
        return "any"

    def start(self) -> Start:
        text = self.values.get(START, "earliest").lower()
        if text not in _STARTS:
            self._wrong(START, f"{START}: {text!r} is no place to start", "earliest or latest")
        return _STARTS.get(text, "earliest")

    def passed_on(self) -> dict[str, str]:
        """Return the properties for Kafka clients. A key that resembles a job property is reported as a mistake."""
        given = {
            key: value for key, value in self.values.items() if key not in _KNOWN and not key.startswith(tuple(_NOTES))
        }
        found = {key.removeprefix(_CONSUMER): (key, value) for key, value in given.items()}
        is_own = is_own_cluster(_brokers(self.values), self.own_cluster)
        for name, (key, _) in found.items():
            if key.startswith(("kafka.", "schema.", "schemaRegistry")):
                self._wrong(key, f"{key} is not a property of a job", did_you_mean(key, _KNOWN, ""))
            elif name not in ALLOWED:
                hint = did_you_mean(
                    name, ALLOWED, "what Kafka's clients of all jobs need stands in the settings, under kafka"
                )
                self._wrong(key, f"{key} is not allowed in a job", hint)
            elif names_own_files(name) and not is_own:
                self._wrong(key, f"{key}: this machine's keys are for the brokers of the settings only", _OWN_KEY_HINT)
        return {name: value for name, (_, value) in found.items()}

    def notes(self) -> list[str]:
        found = [note for start, note in _NOTES.items() if any(key.startswith(start) for key in self.values)]
        return list(dict.fromkeys(found))

    def _wrong(self, key: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.place(key), message, hint))
