"""From settings to the options that every librdkafka client is made with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.config import Settings, load_settings

_MS = 1000


def client_options(settings: Settings, **own: Any) -> dict[str, Any]:  # noqa: ANN401 - librdkafka's values are of many types
    """What all clients share, then the client's own options (dots as `__`), then the user's, which win."""
    shared: dict[str, Any] = {
        "bootstrap.servers": settings.bootstrap,
        "client.id": "penstock",
        "socket.connection.setup.timeout.ms": int(min(settings.timeout, 10) * _MS),
        "reconnect.backoff.max.ms": 2000,
        "log_level": 2,
    }
    dotted = {name.replace("__", "."): value for name, value in own.items() if value is not None}
    return {**shared, **dotted, **user_options(settings.kafka)}


def user_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The user's options as librdkafka takes them: booleans in lower case."""
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}


def choose_settings(settings: Settings | None, **shortcuts: str | None) -> Settings:
    """The settings given, or else those of file and environment, under the shortcuts that are given."""
    given = {name: value for name, value in shortcuts.items() if value is not None}
    return load_settings(options=given).settings if settings is None else settings.model_copy(update=given)
