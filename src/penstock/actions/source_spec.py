"""`source:` section of a pipeline's file: cluster and topics, start position, commits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from penstock.config.connection import Connection
from penstock.config.fields import Seconds, Topic
from penstock.config.units import parse_time

MCL, MCL_TIMESERIES, PE = "mcl", "mcl_timeseries", "pe"
Commit = Literal["sync", "async", "interval"]
Topics = Annotated[list[Topic], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]

DEFAULT_ROUTES = {
    MCL: ["MetadataChangeLog_Versioned_v1", "MetadataChangeLog_v1"],
    MCL_TIMESERIES: ["MetadataChangeLog_Timeseries_v1"],
    PE: ["PlatformEvent_v1"],
}
"""Versioned change logs have had two topic names. All existing topics of the list are read."""

_SAFE_EVERY, _QUICK_EVERY = 100, 500
_WORDS = ("committed", "earliest", "latest")


class Part(BaseModel):
    """Section of a pipeline's file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ActionConnection(Connection):
    """Cluster and registry, with the keys of DataHub's connections."""

    client_timeout_seconds: float | None = Field(None, gt=0, le=3600, description="how long one call may take")

    @field_validator("consumer_config", "schema_registry_config", mode="before")
    @classmethod
    def _or_empty(cls, given: object) -> object:
        return {} if given is None else given


class KafkaSource(Part):
    """Kafka as an event source."""

    connection: ActionConnection = Field(default_factory=ActionConnection)
    topic_routes: dict[str, Topics] = Field(default_factory=lambda: dict(DEFAULT_ROUTES), min_length=1)
    start: str = Field("committed", description="or earliest, latest, a time: where the group is moved to first")
    stateless: bool = Field(default=False, description="only what arrives while it runs; no group, no commits")
    commit: Commit = Field("async", description="sync, async or interval; docs/actions.md states what each promises")
    commit_every: int | None = Field(None, ge=1, le=1_000_000, description="events; default 100 (sync), 500 (async)")
    commit_interval: Seconds = Field(5.0, description="for commit: interval")
    async_commit_enabled: bool | None = Field(None, description="DataHub's: true is async, false sync for each event")
    async_commit_interval: int | None = Field(None, description="DataHub's, in milliseconds; commits are not rarer")
    commit_retry_count: int | None = Field(None, description="DataHub's; commits are retried until they are taken")
    commit_retry_backoff: float | None = Field(None, description="DataHub's")
    enable_mcl_pre_deserialization_filter: bool | None = Field(None, description="DataHub's; it is always so")

    @field_validator("topic_routes", mode="before")
    @classmethod
    def _or_default(cls, given: object) -> object:
        return dict(DEFAULT_ROUTES) if given is None else given

    @field_validator("topic_routes")
    @classmethod
    def _one_route_for_a_topic(cls, routes: dict[str, list[str]]) -> dict[str, list[str]]:
        """Reject ambiguous messages: a topic under routes of two kinds. Both change-log routes are one kind."""
        known: dict[str, str] = {}
        for route, topics in routes.items():
            for topic in topics:
                other = known.setdefault(topic, route)
                if other != route and {other, route} != {MCL, MCL_TIMESERIES}:
                    raise ValueError(f"the topic {topic} is under two routes, {other} and {route}; name it under one")
        return routes

    @field_validator("start", mode="before")
    @classmethod
    def _a_moment(cls, given: object) -> object:
        """Convert datetimes to text and check the time: YAML parses some times as datetimes."""
        text = given.isoformat() if isinstance(given, datetime) else given
        if isinstance(text, str) and text not in _WORDS:
            parse_time(text)
        return text

    @property
    def commits(self) -> tuple[Commit, int]:
        """Commit mode and maximum number of events between commits. DataHub's keys apply if ours are missing."""
        given = self.model_fields_set
        if "commit" not in given and self.async_commit_enabled is False:
            return "sync", self.commit_every or 1
        return self.commit, self.commit_every or (_SAFE_EVERY if self.commit == "sync" else _QUICK_EVERY)

    def routes(self) -> dict[str, str]:
        """Return the route of each topic."""
        return {topic: route for route, topics in self.topic_routes.items() for topic in topics}
