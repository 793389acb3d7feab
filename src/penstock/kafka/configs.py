"""Settings of topics and brokers, with the source of each value."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from penstock.config import Settings
from penstock.config.secrets import HIDDEN
from penstock.errors import NotAuthorized
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import BrokerId
from penstock.kafka.errors import Right

MAX_RECORD = "max.message.bytes"
_MAX_RECORD_BYTES = 1_048_588
"""Kafka's default limit of a topic."""

_SHOWN_SECONDS = 5.0
_PAUSE = 0.05


class Source(StrEnum):
    """Source of a setting's value, lowest precedence first."""

    DEFAULT = "default"
    FILE = "static file"
    CLUSTER = "dynamic, all brokers"
    BROKER = "dynamic, this broker"
    TOPIC = "topic"
    UNKNOWN = "unknown"


_SOURCES = {
    ConfigSource.DEFAULT_CONFIG: Source.DEFAULT,
    ConfigSource.STATIC_BROKER_CONFIG: Source.FILE,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: Source.CLUSTER,
    ConfigSource.DYNAMIC_BROKER_CONFIG: Source.BROKER,
    ConfigSource.DYNAMIC_TOPIC_CONFIG: Source.TOPIC,
}


@dataclass(frozen=True)
class Setting:
    """A setting. The value is None if unset, and hidden if secret."""

    name: str
    value: str | None
    source: Source


def topic_settings(admin: Admin, topic: str) -> list[Setting]:
    """Return all settings of a topic, sorted by name."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    needs = [Right("DESCRIBE_CONFIGS", "topic", topic)]
    found = admin.ask(
        AdminClient.describe_configs, [resource], tried=f"reading the settings of topic '{topic}'", needs=needs
    )
    return _settings(found[resource])


def record_limit(settings: Settings, topic: str) -> int:
    """Return the maximum bytes of a compressed record in a topic; Kafka's default if the settings may not be read."""
    with Admin(settings) as admin:
        return record_limit_at(admin, topic)


def record_limit_at(admin: Admin, topic: str) -> int:
    """Return the same as `record_limit`, with a connection."""
    with suppress(NotAuthorized):
        for setting in topic_settings(admin, topic):
            if setting.name == MAX_RECORD and setting.value is not None:
                return int(setting.value)
    return _MAX_RECORD_BYTES


def broker_settings(admin: Admin, brokers: Collection[BrokerId]) -> dict[BrokerId, list[Setting]]:
    """Return all settings of each broker, sorted by name."""
    resources = {broker: ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers}
    found = admin.ask(
        AdminClient.describe_configs,
        list(resources.values()),
        tried="reading the brokers' settings",
        needs=[Right("DESCRIBE_CONFIGS", "cluster")],
    )
    return {broker: _settings(found[resource]) for broker, resource in resources.items()}


def alter_topic_settings(admin: Admin, topic: str, changes: Mapping[str, str | None]) -> None:
    """Change settings of a topic and wait up to 5 seconds until visible. None resets a setting to its default."""
    entries = [
        ConfigEntry(
            name, value, incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        )
        for name, value in changes.items()
    ]
    admin.order(
        AdminClient.incremental_alter_configs,
        [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)],
        tried=f"changing the settings of topic '{topic}'",
        needs=[Right("ALTER_CONFIGS", "topic", topic)],
    )
    _await_shown(admin, topic, changes)


def _await_shown(admin: Admin, topic: str, changes: Mapping[str, str | None]) -> None:
    """Wait until the change is visible: the brokers learn of it from the controller with a delay."""
    deadline = time.monotonic() + _SHOWN_SECONDS
    with suppress(NotAuthorized):
        while time.monotonic() < deadline and not _are_shown(topic_settings(admin, topic), changes):
            time.sleep(_PAUSE)


def _are_shown(found: Collection[Setting], changes: Mapping[str, str | None]) -> bool:
    own = {setting.name: setting.value for setting in found if setting.source is Source.TOPIC}
    return all(own.get(name) == value for name, value in changes.items())


def _settings(entries: Mapping[str, ConfigEntry]) -> list[Setting]:
    return [
        Setting(
            name,
            HIDDEN if entry.is_sensitive else entry.value,
            _SOURCES.get(ConfigSource(entry.source), Source.UNKNOWN),
        )
        for name, entry in sorted(entries.items())
    ]
