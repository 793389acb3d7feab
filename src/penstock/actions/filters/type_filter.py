"""Filters over whole events: accepted types, and conditions on their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from penstock.actions.body import body_of
from penstock.actions.filter import Filter
from penstock.actions.filters.operators import Matches
from penstock.actions.filters.screen import Screen, screen
from penstock.events.envelope import EventEnvelope


@dataclass(frozen=True)
class Predicate:
    """One alternative, in its original and compiled form."""

    spec: Mapping[str, object]
    matches: Matches


Predicates = Sequence[Predicate] | None
"""Alternatives, one of which must match. None accepts every event of the type."""


class TypeFilter:
    """Filter by event type, each type with its predicates. `otherwise` applies to all other types."""

    def __init__(self, by_type: Mapping[str, Predicates], otherwise: Predicates = ()) -> None:
        self._by_type = by_type
        self._otherwise = otherwise
        self._screens: dict[str, Screen | None] = {}

    def matches(self, event: EventEnvelope) -> bool:
        """Return whether the type is accepted and any of its predicates matches."""
        predicates = self._by_type.get(event.event_type, self._otherwise)
        if not predicates:
            return predicates is None
        body = body_of(event)
        return any(predicate.matches(body) for predicate in predicates)

    def event_types(self) -> frozenset[str] | None:
        """Return the named types, or None if other types can match too."""
        return frozenset(self._by_type) if self._otherwise == () else None

    def may_match(self, event_type: str, data: bytes | str) -> bool:
        """Return whether the message contains the texts required by the predicates. The payload may already be text."""
        if event_type not in self._screens:
            self._screens[event_type] = self._screen(event_type)
        look = self._screens[event_type]
        return look is None or look(data.encode() if isinstance(data, str) else data)

    def _screen(self, event_type: str) -> Screen | None:
        predicates = self._by_type.get(event_type, self._otherwise)
        return None if predicates is None else screen(event_type, [predicate.spec for predicate in predicates])


class AllOf:
    """Filter that requires all of several filters to match."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self._filters = filters

    def matches(self, event: EventEnvelope) -> bool:
        """Return whether all filters match."""
        return all(part.matches(event) for part in self._filters)

    def event_types(self) -> frozenset[str] | None:
        """Return the types named by all filters."""
        named = [frozenset(types) for part in self._filters if (types := part.event_types()) is not None]
        return reduce(frozenset.intersection, named) if named else None

    def may_match(self, event_type: str, data: bytes) -> bool:
        """Return whether all filters let the message pass."""
        return all(part.may_match(event_type, data) for part in self._filters)
