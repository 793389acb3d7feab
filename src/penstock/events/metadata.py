"""The events that a metadata platform sends: changes of aspects, of entities, and of relationships between them."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.events.fields import Fields

METADATA_CHANGE_LOG = "MetadataChangeLogEvent_v1"
ENTITY_CHANGE = "EntityChangeEvent_v1"
RELATIONSHIP_CHANGE = "RelationshipChangeEvent_v1"

PLATFORM_EVENTS = {"entityChangeEvent": ENTITY_CHANGE, "relationshipChangeEvent": RELATIONSHIP_CHANGE}
"""The names that PlatformEvents carry on the wire, and the types they stand for."""

_PARAMETERS = "__parameters_json"


class Event(Fields):
    """Any event: a generic one has the keys of its record."""

    __slots__ = ()


class MetadataChangeLogEvent(Event):
    """An aspect of an entity changed; `aspect.value` is JSON in bytes."""

    __slots__ = ()

    known: ClassVar[frozenset[str]] = frozenset(
        {
            *("auditHeader", "entityType", "entityUrn", "entityKeyAspect", "changeType", "aspectName", "aspect"),
            *("systemMetadata", "headers", "previousAspectValue", "previousSystemMetadata", "created"),
        }
    )


class EntityChangeEvent(Event):
    """An entity got or lost something: a category and an operation, with parameters of their own."""

    __slots__ = ()

    known: ClassVar[frozenset[str]] = frozenset(
        {"entityType", "entityUrn", "category", "operation", "modifier", "parameters", "auditStamp", "version"}
    )

    @property
    def safe_parameters(self) -> dict[str, Any]:
        """The parameters as a plain dict, which is empty where the event has none."""
        found = self.data.get("parameters") or self.data.get(_PARAMETERS)
        return found if isinstance(found, dict) else {}

    @property
    def _inner_dict(self) -> dict[str, Any]:
        """Where classes written for DataHub look for the parameters."""
        return {**self.data, _PARAMETERS: self.safe_parameters}


class RelationshipChangeEvent(Event):
    """A relationship between two entities was made, changed or removed."""

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
    """The class for events of a type; generic for those that have none of their own."""
    return _CLASSES.get(event_type, Event)
