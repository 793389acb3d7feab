"""How many partitions a topic needs: at least max(t/p, t/c), with room to grow, within what the brokers can keep.

t is the target, p what one partition takes in production, c what one consumer reads and processes of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.errors import UsageError

PARTITIONS_PER_BROKER = 100
"""The rule of thumb: a broker keeps at most this times the brokers times the replication factor."""

_MS = 1000


@dataclass(frozen=True)
class Need:
    """What is asked of a topic: bytes per second, times the growth to come, with so many copies."""

    target: float
    growth: float
    replication: int
    record_bytes: float
    processing_ms: float = 0.0


@dataclass(frozen=True)
class Rates:
    """What one partition takes when it is written and read, in bytes per second."""

    production: float
    consumption: float


@dataclass(frozen=True)
class Surroundings:
    """The cluster around the topic: its brokers, and the partition copies that they keep of other topics."""

    brokers: int
    other_copies: int


@dataclass(frozen=True)
class Plan:
    """The number of partitions, and the numbers that lead to it."""

    need: Need
    rates: Rates
    around: Surroundings

    @property
    def processing(self) -> float | None:
        """What the consumer's own work lets through, in bytes per second, if it is known."""
        busy = self.need.processing_ms / _MS
        return self.need.record_bytes / busy if busy else None

    @property
    def consumption(self) -> float:
        """c: what one consumer takes, its own work included."""
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
        """max(t/p, t/c) for the target as it is today."""
        return max(self.for_production, self.for_consumption, 1)

    @property
    def partitions(self) -> int:
        """max(t/p, t/c) for the target once it has grown."""
        grown = self.need.target * self.need.growth
        return max(math.ceil(grown / min(self.rates.production, self.consumption)), 1)

    @property
    def limit(self) -> int:
        """How many partition copies one broker should keep at most."""
        return PARTITIONS_PER_BROKER * self.around.brokers * self.need.replication

    @property
    def on_each_broker(self) -> int:
        """How many partition copies each broker would keep, with this topic and all others."""
        copies = self.around.other_copies + self.partitions * self.need.replication
        return math.ceil(copies / self.around.brokers)

    @property
    def fits(self) -> bool:
        """Whether the brokers stay within the limit."""
        return self.on_each_broker <= self.limit


def plan_partitions(need: Need, rates: Rates, around: Surroundings) -> Plan:
    """The plan for a need on a cluster, or why there can be none."""
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
