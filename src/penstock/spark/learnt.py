"""What decoders keep from batch to batch: the columns that decode, and what the registry did not know."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, Generic, TypeVar

ASK_AGAIN_SECONDS: Final = 60.0
"""For how long what the registry does not know is not asked for again."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cached(Generic[Value]):
    """What takes longer to make than a small batch does: made when it is wanted, kept until it no longer holds."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._value: Value | None = None

    def get(self) -> Value:
        """The value that is kept, or a new one."""
        value = self._value = self._value or self._make()
        return value

    def drop(self) -> None:
        """Let the next one who asks get a new value."""
        self._value = None


class Unknown(Generic[Key]):
    """What the registry did not know when it was asked, until it is time to ask again."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def __iter__(self) -> Iterator[Key]:
        """Those that are not to be asked for."""
        return iter(self._until)

    def __len__(self) -> int:
        """How many these are."""
        return len(self._until)

    def note(self, keys: Iterable[Key]) -> None:
        """Remember that the registry does not know these."""
        until = time.monotonic() + ASK_AGAIN_SECONDS
        self._until.update((key, until) for key in keys)

    def forget_due(self) -> list[Key]:
        """Forget those that are to be asked for again; gives them back."""
        now = time.monotonic()
        due = [key for key, until in self._until.items() if until <= now]
        for key in due:
            del self._until[key]
        return due
