"""Consumer options: plain names for librdkafka's settings, with safe defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.errors import UsageError
from penstock.kafka.options import client_options
from penstock.kafka.start import Fallback, is_pattern

Assignment = Literal["eager", "cooperative"]

_STRATEGIES = {"eager": None, "cooperative": "cooperative-sticky"}
_CHOSEN_BY_NAME = {
    "group.id": "group",
    "group.instance.id": "instance_id",
    "auto.offset.reset": "fallback",
    "enable.auto.commit": "commit",
    "enable.auto.offset.store": "commit",
    "auto.commit.interval.ms": "every",
}
_NO_GROUP = "penstock-no-group"
"""librdkafka requires a group name even if no group is joined."""

_FULL_QUEUE_MS = 5
"""How long librdkafka stops fetching when its queue is full; its default of 1000 starves a fast consumer."""

_HEARTBEAT_MS = 1000
"""Members learn of a rebalance by heartbeat; librdkafka's default of 3000 makes every rebalance take that long."""

_SESSION_MS = 30_000
"""How long a silent member keeps its partitions, and a commit waits for a broker; librdkafka's default is 45,000."""

_MAX_POLL_INTERVAL_MS = 300_000
_KAFKAS_OWN_TOPICS = "^__.*"


def with_options(settings: Settings, passed: Mapping[str, Any]) -> Settings:
    """Return the settings of a consumer, overridden by the librdkafka options of the caller."""
    return settings.model_copy(update={"kafka": PassThrough({**settings.kafka, **passed})})


def librdkafka_options(
    settings: Settings,
    topics: Collection[str],
    *,
    group: str | None,
    fallback: Fallback,
    assignment: Assignment,
    instance_id: str | None,
) -> dict[str, Any]:
    """Return all options of the handle. User options win; options with their own parameter raise UsageError."""
    _refuse_unknown(fallback, assignment)
    _refuse_named(settings.kafka)
    broker_led = settings.kafka.get("group.protocol") == "consumer"
    return client_options(
        settings,
        group__id=group or _NO_GROUP,
        group__instance__id=instance_id,
        auto__offset__reset=fallback,
        enable__auto__commit=False,
        enable__auto__offset__store=False,
        partition__assignment__strategy=_STRATEGIES[assignment],
        topic__blacklist=_KAFKAS_OWN_TOPICS if any(map(is_pattern, topics)) else None,
        session__timeout__ms=None if broker_led else _SESSION_MS,
        heartbeat__interval__ms=None if broker_led else _HEARTBEAT_MS,
        max__poll__interval__ms=_MAX_POLL_INTERVAL_MS,
        fetch__queue__backoff__ms=_FULL_QUEUE_MS,
    )


def _refuse_unknown(fallback: str, assignment: str) -> None:
    if fallback not in {"earliest", "latest"}:
        raise UsageError(f"fallback={fallback!r} is not a choice", hint="choose earliest or latest")
    if assignment not in _STRATEGIES:
        raise UsageError(f"assignment={assignment!r} is not a choice", hint=f"choose {' or '.join(_STRATEGIES)}")


def _refuse_named(passed: Mapping[str, Any]) -> None:
    for setting, name in _CHOSEN_BY_NAME.items():
        if setting in passed:
            raise UsageError(f"{setting} cannot be passed through to a consumer", hint=f"use {name}= instead")
