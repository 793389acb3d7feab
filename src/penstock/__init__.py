"""Penstock carries events, database changes and metadata through Kafka."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.events.record import ConsumerRecord
    from penstock.kafka.consumer import Consumer
    from penstock.kafka.deliveries import TOMBSTONE
    from penstock.kafka.producer import Producer

__all__ = ["TOMBSTONE", "Consumer", "ConsumerRecord", "Producer"]

_HOMES = {
    "Consumer": "penstock.kafka.consumer",
    "ConsumerRecord": "penstock.events.record",
    "TOMBSTONE": "penstock.kafka.deliveries",
    "Producer": "penstock.kafka.producer",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has its own type, which checkers see above
    """Import a public name on first use, so that commands without Kafka start quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
