"""Options of all librdkafka clients, derived from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.config import Settings, load_settings

_MS = 1000


def client_options(settings: Settings, **own: Any) -> dict[str, Any]:  # noqa: ANN401 - librdkafka's values are of many types
    """Merge shared options, the client's own options (dots as `__`), and the user's options, which win."""
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
    """Return the user's options in librdkafka's form: booleans in lower case."""
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}


def choose_settings(settings: Settings | None, **shortcuts: str | None) -> Settings:
    """Return the given settings, or else those of file and environment, overridden by the shortcuts."""
    given = {name: value for name, value in shortcuts.items() if value is not None}
    return load_settings(options=given).settings if settings is None else settings.model_copy(update=given)
