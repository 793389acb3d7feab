"""Registry clients: Confluent's API, registries that only serve schemas by id, and a registry in memory."""

from penstock.schemas.registry.connect import connect_registry
from penstock.schemas.registry.memory import MemoryRegistry
from penstock.schemas.registry.protocol import RegisteredSchema, SchemaRegistry, Version

__all__ = ["MemoryRegistry", "RegisteredSchema", "SchemaRegistry", "Version", "connect_registry"]
