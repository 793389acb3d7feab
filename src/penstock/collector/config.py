"""The `collector:` section of the settings."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from penstock.config.fields import Seconds, Size, Topic
from penstock.config.settings import LoadedSettings
from penstock.config.validation import problems
from penstock.errors import ConfigError

EVENTS = "events"
PRODUCT_EVENT = Path(__file__).parent.parent / "events" / "event.avsc"

_MIB = 1024 * 1024


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class TopicSettings(_Part):
    """Topic for events, with schema, and the fields with a meaning for the collector."""

    schema_file: Path = Field(alias="schema", description="the Avro file that events must fit")
    key: str | None = Field(None, description="the field whose text is the record's key: its events stay in order")
    time: str | None = Field(None, description="the field that the server sets when it is absent or null")


class KeySettings(_Part):
    """API key, as a secret or SHA-256, with its permissions."""

    name: str = Field(min_length=1, max_length=100, description="how metrics and dead letters call its holder")
    secret: SecretStr | None = Field(None, description="the key itself; ${VARIABLE} keeps it out of the file")
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$")] | None = Field(
        None, description="or its SHA-256, in hexadecimal"
    )
    topics: list[Topic] | None = Field(None, description="the topics it may send to; default all")
    rate: float | None = Field(None, gt=0, description="events a second; default no limit")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.secret is None) == (self.sha256 is None):
            raise ValueError("give either secret or sha256")
        if self.secret is not None and not self.secret.get_secret_value():
            raise ValueError("secret is empty")
        return self


class CorsSettings(_Part):
    """Web pages that may send events from a browser."""

    origins: list[str] = Field(min_length=1, description="such as https://shop.example; * for any")
    max_age: Seconds = Field(600, description="how long a browser may remember the answer")


class CollectorSettings(_Part):
    """All settings of the collector except the Kafka connection."""

    host: str = Field("127.0.0.1", description="the address to listen on; the port is ports.collector")
    workers: int = Field(1, ge=1, le=64, description="processes that share the port")
    topic: Topic = Field(EVENTS, description="where POST /events leads")
    topics: dict[Topic, TopicSettings] = Field(
        default_factory=lambda: {EVENTS: TopicSettings(schema_file=PRODUCT_EVENT, key="User_ID", time="Server_Time")},
        description="the topics that take events",
    )
    dead_letters: Topic | None = Field(None, description="the topic that keeps rejected events; default none does")
    keys: list[KeySettings] = Field(default_factory=list, description="API keys; without any, everybody may send")
    cors: CorsSettings | None = Field(None, description="browsers' requests from other origins")
    max_body: Size = Field(4 * _MIB, description="a body's size, as sent and decompressed")
    max_events: int = Field(5_000, ge=1, description="events in one body")
    buffer: Size = Field(64 * _MIB, description="bytes that may wait for Kafka, in each worker")
    answer_within: Seconds = Field(10, description="when Kafka has not acknowledged by then, the answer is 503")
    give_up_after: Seconds = Field(300, description="when Kafka has not acknowledged by then, nobody tries any more")
    read_within: Seconds = Field(30, description="how long a body may take to arrive")
    connections: int = Field(1000, ge=1, description="open connections, in each worker; more are answered with 503")
    window: Seconds = Field(600, description="for how long a repeated id is recognised")
    window_ids: int = Field(100_000, ge=1, description="how many ids are remembered, in each worker")

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        if self.topic not in self.topics:
            raise ValueError(f"topic is {self.topic}, which is not among topics: {', '.join(self.topics)}")
        if self.dead_letters in self.topics:
            raise ValueError(f"dead_letters is {self.dead_letters}, which takes events itself")
        names = [key.name for key in self.keys]
        if len(set(names)) < len(names):
            raise ValueError("two keys have the same name")
        for key in self.keys:
            for topic in set(key.topics or ()) - self.topics.keys():
                raise ValueError(f"key {key.name} may send to {topic}, which is not among topics")
        return self

    @model_validator(mode="after")
    def _limits_fit(self) -> Self:
        if self.buffer < self.max_body:
            room = f"buffer is {self.buffer:,} bytes, too small for a body of max_body ({self.max_body:,})"
            raise ValueError(f"{room}; raise buffer or lower max_body")
        if self.window < self.give_up_after:
            times = f"window is {self.window:g} s, and an event may be underway for {self.give_up_after:g} s"
            raise ValueError(f"{times}; raise window or lower give_up_after, or a repeated id is sent twice")
        return self

    @property
    def is_open(self) -> bool:
        """Whether anybody on the network may send: no keys, and bound to more than the loopback interface."""
        return not self.keys and not _is_loopback(self.host)


class _Settings(BaseModel):
    collector: CollectorSettings


def collector_settings(loaded: LoadedSettings) -> CollectorSettings:
    """Validate the section. Raise a ConfigError with every problem and position."""
    try:
        return _Settings.model_validate({"collector": dict(loaded.settings.collector)}).collector
    except ValidationError as error:
        raise ConfigError(problems(error, _Settings, loaded.place)) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
