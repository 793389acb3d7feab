"""The seam for filters: which events a pipeline is for.

`penstock.actions.filters.compile_filter(filter, filters, place)` makes one from a pipeline's `filter:` (a mapping or
None) and `filters:` (a list of `{type, config}`); a ConfigError lists every mistake, at `place(key_path)`, where the
key path begins with "filter" or "filters".
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol

from penstock.events.envelope import EventEnvelope


class Filter(Protocol):
    """Decides on events; the same answer for the same event, on any thread, and nothing is changed by it.

    An error from `matches` fails the event.
    """

    def matches(self, event: EventEnvelope) -> bool:
        """Whether the pipeline is for this event."""
        ...

    def event_types(self) -> AbstractSet[str] | None:
        """The only types of events that can match; None where any may."""
        ...

    def may_match(self, event_type: str, data: bytes) -> bool:
        """Whether an event of this type may match, going by the bytes of its message; False only if it cannot.

        Asked before the bytes are decoded. They are Avro for MetadataChangeLogEvent_v1 (text fields stand in them as
        UTF-8, enums do not) and JSON for the events out of PlatformEvent; for other types they may be either.
        """
        ...


class Everything:
    """The filter of a pipeline that has none."""

    def matches(self, event: EventEnvelope) -> bool:  # noqa: ARG002 - the seam's signature
        """It is for every event."""
        return True

    def event_types(self) -> None:
        """Of any type."""

    def may_match(self, event_type: str, data: bytes) -> bool:  # noqa: ARG002 - as above
        """Whatever is in the message."""
        return True
