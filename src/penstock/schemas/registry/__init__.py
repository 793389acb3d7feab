"""Registry clients: Confluent's API, the kind that only serves schemas by id, and one in memory."""

from penstock.schemas.registry.connect import connect_registry
from penstock.schemas.registry.memory import MemoryRegistry
from penstock.schemas.registry.protocol import RegisteredSchema, SchemaRegistry, Version

__all__ = ["MemoryRegistry", "RegisteredSchema", "SchemaRegistry", "Version", "connect_registry"]
