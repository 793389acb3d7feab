"""Property names in WhereHows' later job files, with a single topic per file."""

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
    """Map each property's name in the first form to the name in the file.

    If both names of a property are present, the first form wins.
    """
    given = {key: key for key in properties if key not in _NAMES}
    return {_NAMES[key]: key for key in properties if key in _NAMES} | given
