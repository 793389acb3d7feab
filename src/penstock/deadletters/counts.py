"""Counts of dead letters and records by pipeline and reason, with the first and last time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from penstock.deadletters.letter import DeadLetter


@dataclass
class Group:
    """Letters with an equal pipeline, code and topic of origin. Several letters may belong to one record."""

    letters: str
    pipeline: str
    code: str
    topic: str
    count: int = 0
    records: int = 0
    replayed: int = 0
    first: str = ""
    last: str = ""
    seen: set[int] = field(default_factory=set, repr=False)
    """Hashes of the records: hashes need less memory."""

    def take(self, letter: DeadLetter, *, replayed: bool) -> None:
        """Add one letter."""
        self.count += 1
        self.seen.add(hash(letter.record))
        self.records = len(self.seen)
        self.replayed += replayed
        self.first = min(self.first or letter.failed_at, letter.failed_at)
        self.last = max(self.last, letter.failed_at)


def count_letters(
    letters: Iterable[DeadLetter], is_replayed: Callable[[DeadLetter], bool], newest: int
) -> tuple[list[Group], list[DeadLetter]]:
    """Return the groups, largest first, and the newest letters, newest first."""
    groups: dict[tuple[str, ...], Group] = {}
    latest: list[tuple[str, int, DeadLetter]] = []
    for number, letter in enumerate(letters):
        key = (letter.place.topic, letter.pipeline, letter.code, letter.origin.topic)
        groups.setdefault(key, Group(*key)).take(letter, replayed=is_replayed(letter))
        heappush(latest, (letter.failed_at, number, letter))
        if len(latest) > newest:
            heappop(latest)
    ranked = sorted(groups.values(), key=lambda group: (-group.count, group.letters, group.pipeline, group.code))
    return ranked, [letter for _, _, letter in sorted(latest, reverse=True)]
