"""WhereHows' later job files: one topic each, with other names for the same things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAMES: Final = {
    "kafka.consumer.topic": "kafka.topics",
    "kafka.processor": "kafka.processors",
    "consumer.group.id": "group.id",
    "consumer.auto.offset.reset": "auto.offset.reset",
    "consumer.auto.commit.interval.ms": "auto.commit.interval.ms",
    "consumer.schema.registry.url": "schemaRegistryUrl",
}


def first_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The name that each property has in the first form, and the one under which it is given.

    Of two names for one thing, that of the first form counts.
    """
    given = {key: key for key in properties if key not in _NAMES}
    return {_NAMES[key]: key for key in properties if key in _NAMES} | given
