"""Events of a metadata platform: changes of aspects, entities, and relationships between entities."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.events.fields import Fields

METADATA_CHANGE_LOG = "MetadataChangeLogEvent_v1"
ENTITY_CHANGE = "EntityChangeEvent_v1"
RELATIONSHIP_CHANGE = "RelationshipChangeEvent_v1"

PLATFORM_EVENTS = {"entityChangeEvent": ENTITY_CHANGE, "relationshipChangeEvent": RELATIONSHIP_CHANGE}
"""Names of PlatformEvents in messages, and the event types they represent."""

_PARAMETERS = "__parameters_json"


class Event(Fields):
    """Any event. A generic event has the keys of its record."""

    __slots__ = ()


class MetadataChangeLogEvent(Event):
    """Change of an entity's aspect. `aspect.value` is JSON in bytes."""

    __slots__ = ()

    known: ClassVar[frozenset[str]] = frozenset(
        {
            *("auditHeader", "entityType", "entityUrn", "entityKeyAspect", "changeType", "aspectName", "aspect"),
            *("systemMetadata", "headers", "previousAspectValue", "previousSystemMetadata", "created"),
        }
    )


class EntityChangeEvent(Event):
    """Change of an entity: a category and an operation, with parameters that depend on both."""

    __slots__ = ()

    known: ClassVar[frozenset[str]] = frozenset(
        {"entityType", "entityUrn", "category", "operation", "modifier", "parameters", "auditStamp", "version"}
    )

    @property
    def safe_parameters(self) -> dict[str, Any]:
        """Parameters as a plain dict, empty if the event has none."""
        found = self.data.get("parameters") or self.data.get(_PARAMETERS)
        return found if isinstance(found, dict) else {}

    @property
    def _inner_dict(self) -> dict[str, Any]:
        """Dict in which classes written for DataHub look up the parameters."""
        return {**self.data, _PARAMETERS: self.safe_parameters}


class RelationshipChangeEvent(Event):
    """Creation, change or removal of a relationship between two entities."""

    __slots__ = ()

    known: ClassVar[frozenset[str]] = frozenset(
        {
            *("auditHeader", "sourceUrn", "destinationUrn", "operation", "relationshipType"),
            *("lifecycleOwner", "via", "properties", "auditStamp"),
        }
    )


_CLASSES: dict[str, type[Event]] = {
    METADATA_CHANGE_LOG: MetadataChangeLogEvent,
    ENTITY_CHANGE: EntityChangeEvent,
    RELATIONSHIP_CHANGE: RelationshipChangeEvent,
}


def event_class(event_type: str) -> type[Event]:
    """Return the class for events of a type; `Event` for types without a class."""
    return _CLASSES.get(event_type, Event)
