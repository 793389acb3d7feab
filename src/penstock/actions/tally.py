"""Event counters of one pipeline by event type, as plain numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from threading import Lock

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
OTHER_TYPES = "other"

_MAX_TYPES, _MAX_LENGTH = 100, 100


@dataclass(slots=True)
class Histogram:
    """Histogram of durations: counts by bucket, the last bucket without a limit, and total seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def observe(self, seconds: float) -> None:
        """Add one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds

    def add(self, other: Histogram) -> None:
        """Add another process's numbers."""
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds


@dataclass(slots=True)
class Counts:
    """Counters of one event type. Every received event is finally filtered, done or failed.

    `wait` is the time from the message's own timestamp until work on the event began. `action` is the time spent in
    transformers and action, without pauses between attempts.
    """

    received: int = 0
    filtered: int = 0
    done: int = 0
    failed: int = 0
    retried: int = 0
    wait: Histogram = field(default_factory=Histogram)
    action: Histogram = field(default_factory=Histogram)

    def add(self, other: Counts) -> None:
        """Add the numbers of another type or process."""
        self.received += other.received
        self.filtered += other.filtered
        self.done += other.done
        self.failed += other.failed
        self.retried += other.retried
        self.wait.add(other.wait)
        self.action.add(other.action)


class Tally:
    """Event counters, callable from any thread."""

    def __init__(self) -> None:
        self.by_type: dict[str, Counts] = {}
        self._lock = Lock()

    def filtered(self, event_type: str) -> None:
        """Count an event rejected by the filter."""
        with self._lock:
            counts = self.by_type.get(event_type) or self._new(event_type)
            counts.received += 1
            counts.filtered += 1

    def received(self, event_type: str, wait: float) -> None:
        """Count an event at the start of its work."""
        with self._lock:
            counts = self.by_type.get(event_type) or self._new(event_type)
            counts.received += 1
            counts.wait.observe(wait)

    def acted(self, event_type: str, seconds: float) -> None:
        """Record the duration of an attempt that did not finish the event."""
        with self._lock:
            self._new(event_type).action.observe(seconds)

    def done(self, event_type: str, seconds: float) -> None:
        """Count a finished event and record the duration of its last attempt."""
        with self._lock:
            counts = self.by_type.get(event_type) or self._new(event_type)
            counts.done += 1
            counts.action.observe(seconds)

    def acknowledged(self, event_type: str) -> None:
        """Count a deferred event that is now done."""
        with self._lock:
            self._new(event_type).done += 1

    def dropped(self, event_type: str) -> None:
        """Count an event dropped by a transformer."""
        with self._lock:
            self._new(event_type).filtered += 1

    def failed(self, event_type: str) -> None:
        """Count an event that failed for good."""
        with self._lock:
            self._new(event_type).failed += 1

    def retried(self, event_type: str) -> None:
        """Count a retry."""
        with self._lock:
            self._new(event_type).retried += 1

    def _new(self, event_type: str) -> Counts:
        """Return the counters of a type. Type names come from outside, so their number is limited."""
        return self.by_type.setdefault(label_of(event_type, self.by_type), Counts())


def label_of(event_type: str, known: Collection[str]) -> str:
    """Return the label for counting a type. Types come from events, so their number and length are limited."""
    if event_type in known:
        return event_type
    is_name = len(event_type) <= _MAX_LENGTH and event_type.isprintable()
    return event_type if is_name and len(known) < _MAX_TYPES else OTHER_TYPES


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sum of all counters."""
    found = Counts()
    for each in counts:
        found.add(each)
    return found
