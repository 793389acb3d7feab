"""Settings of a pipeline's consumer and other clients, derived from its `connection:`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.actions.environment import consumer_properties
from penstock.actions.registry import imported
from penstock.actions.spec import PipelineSpec
from penstock.config import PassThrough, Settings
from penstock.errors import UsageError
from penstock.kafka.java_stores import without_java_stores
from penstock.kafka.start import Fallback

_OURS = ("enable.auto.commit", "enable.auto.offset.store", "auto.commit.interval.ms")
"""Properties ignored in DataHub's files: `commit:` decides, and offsets are committed only past finished events."""

_CONSUMER = {"session.timeout.ms": 10_000, "topic.metadata.refresh.interval.ms": 10_000}
"""A dead member's partitions stay unread for up to 10 s (DataHub's value), and new topics unseen for up to 10 s."""

_OF_EVERY_CLIENT = (
    *("bootstrap.", "security.", "ssl.", "sasl.", "socket.", "client.", "broker."),
    *("enable.ssl", "oauth_cb"),
)
_POLL, _GROUP_WAITS_MS = "max.poll.interval.ms", 300_000
_EARLIEST = ("earliest", "smallest", "beginning")


class Clients(NamedTuple):
    """Settings of the consumer and of other clients, the group, and the start position of a group without offsets.

    `group_waits`: seconds that the group waits for a member to give up partitions before continuing without the member.
    """

    consumer: Settings
    others: Settings
    group: str
    fallback: Fallback
    group_waits: float


def clients_of(spec: PipelineSpec, base: Settings) -> Clients:
    """Return the client settings. The connection overrides the environment, and the environment overrides `base`."""
    connection = spec.source.config.connection
    given = {**consumer_properties(os.environ), **without_java_stores(dict(connection.consumer_config))}
    group = str(given.pop("group.id", spec.name))
    reset = str(given.pop("auto.offset.reset", "latest"))
    passed = _resolved({name: value for name, value in given.items() if name not in _OURS})
    bare = connection.model_copy(update={"consumer_config": PassThrough()}).settings(base)
    timeout = connection.client_timeout_seconds or base.timeout
    consumer = {**_CONSUMER, **base.kafka, **passed}
    return Clients(
        consumer=_with(bare, timeout, consumer),
        others=_with(bare, timeout, {**base.kafka, **_shared(passed)}),
        group=group,
        fallback="earliest" if reset in _EARLIEST else "latest",
        group_waits=_poll_seconds(consumer),
    )


def _with(settings: Settings, timeout: float, kafka: Mapping[str, Any]) -> Settings:
    return settings.model_copy(update={"timeout": timeout, "kafka": PassThrough(kafka)})


def _shared(passed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in passed.items() if name.startswith(_OF_EVERY_CLIENT)}


def _resolved(passed: dict[str, Any]) -> dict[str, Any]:
    """Replace `oauth_cb: module:function` with the function, which returns tokens."""
    place = passed.get("oauth_cb")
    return {**passed, "oauth_cb": _function(place)} if isinstance(place, str) else passed


def _function(place: str) -> Callable[..., Any]:
    hint = "write module:function, and let PYTHONPATH name its directory"
    try:
        found = imported(place)
    except UsageError as error:
        raise UsageError(f"oauth_cb: {error.message}", hint=hint) from error
    if not callable(found):
        raise UsageError(f"oauth_cb: {place} is no function", hint=hint)
    return found  # type: ignore[no-any-return]


def _poll_seconds(kafka: Mapping[str, Any]) -> float:
    given = kafka.get(_POLL, _GROUP_WAITS_MS)
    try:
        return int(given) / 1000
    except (TypeError, ValueError):
        raise UsageError(f"{_POLL}: {given!r} is not a number", hint="it is in milliseconds") from None
