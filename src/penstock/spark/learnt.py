"""Per-query caches of decoders: compiled columns, and schemas missing from the registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, Generic, TypeVar

ASK_AGAIN_SECONDS: Final = 60.0
"""Seconds before a schema that the registry does not have is looked up again."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cached(Generic[Value]):
    """Lazily computed value, expensive compared to a small batch; cached until `drop`."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._value: Value | None = None

    def get(self) -> Value:
        """Return the cached value, or compute a new value."""
        value = self._value = self._value or self._make()
        return value

    def drop(self) -> None:
        """Discard the cached value, so the next `get` computes a new value."""
        self._value = None


class Unknown(Generic[Key]):
    """Keys missing from the registry, until the time of the next lookup."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys excluded from lookups for now."""
        return iter(self._until)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._until)

    def note(self, keys: Iterable[Key]) -> None:
        """Record keys missing from the registry."""
        until = time.monotonic() + ASK_AGAIN_SECONDS
        self._until.update((key, until) for key in keys)

    def forget_due(self) -> list[Key]:
        """Remove and return the keys whose retry time has come."""
        now = time.monotonic()
        due = [key for key, until in self._until.items() if until <= now]
        for key in due:
            del self._until[key]
        return due
