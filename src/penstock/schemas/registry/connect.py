"""Creation of a registry client from settings."""

from __future__ import annotations

from penstock.config import Settings
from penstock.schemas.registry.by_id import ByIdRegistry
from penstock.schemas.registry.confluent import ConfluentRegistry
from penstock.schemas.registry.http import RegistryHttp
from penstock.schemas.registry.protocol import SchemaRegistry


def connect_registry(settings: Settings) -> SchemaRegistry:
    """Return a client for the configured registry, without sending a request."""
    http = RegistryHttp(settings)
    return ByIdRegistry(http) if settings.registry_api == "by-id" else ConfluentRegistry(http)
