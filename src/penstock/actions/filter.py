"""Interface of filters. A filter selects the events of a pipeline.

`penstock.actions.filters.compile_filter(filter, filters, place)` builds a filter from a pipeline's `filter:` (a mapping
or None) and `filters:` (a list of `{type, config}`). A ConfigError lists every mistake, located by `place(key_path)`,
where the key path begins with "filter" or "filters".
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol

from penstock.events.envelope import EventEnvelope


class Filter(Protocol):
    """Event filter: deterministic, callable on any thread, without side effects.

    An error from `matches` fails the event.
    """

    def matches(self, event: EventEnvelope) -> bool:
        """Return whether the pipeline accepts this event."""
        ...

    def event_types(self) -> AbstractSet[str] | None:
        """Return the only event types that can match, or None if any type can."""
        ...

    def may_match(self, event_type: str, data: bytes) -> bool:
        """Return whether an event of this type may match, judged by the message's bytes. False means: cannot match.

        Called before decoding. The bytes are Avro for MetadataChangeLogEvent_v1 (text fields appear as UTF-8, enums do
        not) and JSON for events from PlatformEvents; for any other type, the bytes may be either.
        """
        ...


class Everything:
    """Filter of a pipeline without filters."""

    def matches(self, event: EventEnvelope) -> bool:  # noqa: ARG002 - the interface's signature
        """Accept every event."""
        return True

    def event_types(self) -> None:
        """Return None: any type can match."""

    def may_match(self, event_type: str, data: bytes) -> bool:  # noqa: ARG002 - as above
        """Accept every message."""
        return True
