"""Number of partitions of a topic: at least max(t/p, t/c), with room to grow, within the brokers' limit.

t is the target, p the rate at which one partition is written, c the rate at which one consumer reads and processes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.errors import UsageError

PARTITIONS_PER_BROKER = 100
"""Rule of thumb: a broker keeps at most this number times the brokers times the replication factor."""

_MS = 1000


@dataclass(frozen=True)
class Need:
    """Requirements of a topic: bytes per second, the factor of growth, and the number of copies."""

    target: float
    growth: float
    replication: int
    record_bytes: float
    processing_ms: float = 0.0


@dataclass(frozen=True)
class Rates:
    """Throughput of one partition when written and read, in bytes per second."""

    production: float
    consumption: float


@dataclass(frozen=True)
class Surroundings:
    """The cluster around the topic: the brokers, and the partition copies of other topics."""

    brokers: int
    other_copies: int


@dataclass(frozen=True)
class Plan:
    """The planned number of partitions, and the inputs of the calculation."""

    need: Need
    rates: Rates
    around: Surroundings

    @property
    def processing(self) -> float | None:
        """Throughput of the consumer's own work in bytes per second, if known."""
        busy = self.need.processing_ms / _MS
        return self.need.record_bytes / busy if busy else None

    @property
    def consumption(self) -> float:
        """c: throughput of a consumer, including the consumer's own work."""
        read = self.rates.consumption
        return read if self.processing is None else min(read, self.processing)

    @property
    def for_production(self) -> int:
        """t/p, rounded up."""
        return math.ceil(self.need.target / self.rates.production)

    @property
    def for_consumption(self) -> int:
        """t/c, rounded up."""
        return math.ceil(self.need.target / self.consumption)

    @property
    def at_least(self) -> int:
        """max(t/p, t/c) for today's target."""
        return max(self.for_production, self.for_consumption, 1)

    @property
    def partitions(self) -> int:
        """max(t/p, t/c) for the target after growth."""
        grown = self.need.target * self.need.growth
        return max(math.ceil(grown / min(self.rates.production, self.consumption)), 1)

    @property
    def limit(self) -> int:
        """Recommended maximum number of partition copies per broker."""
        return PARTITIONS_PER_BROKER * self.around.brokers * self.need.replication

    @property
    def on_each_broker(self) -> int:
        """Number of partition copies per broker, with this topic and all existing topics."""
        copies = self.around.other_copies + self.partitions * self.need.replication
        return math.ceil(copies / self.around.brokers)

    @property
    def fits(self) -> bool:
        """Whether the brokers stay within the limit."""
        return self.on_each_broker <= self.limit


def plan_partitions(need: Need, rates: Rates, around: Surroundings) -> Plan:
    """Return the plan for a need on a cluster. Raise UsageError if no plan is possible."""
    if need.target <= 0 or need.growth < 1 or need.processing_ms < 0:
        raise UsageError("the target must be above 0, the growth 1 or more, the processing time 0 or more")
    if min(rates.production, rates.consumption) <= 0:
        raise UsageError("a partition that takes nothing cannot be planned with", hint="measure again, for longer")
    if need.replication > around.brokers:
        raise UsageError(
            f"{need.replication} copies need as many brokers, and there are {around.brokers}",
            hint="lower the replication, or add brokers",
        )
    return Plan(need, rates, around)
