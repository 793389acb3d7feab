"""From settings to a registry client."""

from __future__ import annotations

from penstock.config import Settings
from penstock.schemas.registry.by_id import ByIdRegistry
from penstock.schemas.registry.confluent import ConfluentRegistry
from penstock.schemas.registry.http import RegistryHttp
from penstock.schemas.registry.protocol import SchemaRegistry


def connect_registry(settings: Settings) -> SchemaRegistry:
    """A client for the registry that the settings name; nothing is asked of it yet."""
    http = RegistryHttp(settings)
    return ByIdRegistry(http) if settings.registry_api == "by-id" else ConfluentRegistry(http)
