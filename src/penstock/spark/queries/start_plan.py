"""Where a query begins to read: a pure decision from what it has saved and what the cluster has now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import DataLost
from penstock.events.record import Offset, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.spark.queries.position import Position


@dataclass(frozen=True)
class ClusterNow:
    """The partitions of the source: where they begin and end, where the configured start falls, and the topics' ids."""

    first: Offsets
    end: Offsets
    fresh: Offsets
    topic_ids: Mapping[TopicName, str]


@dataclass(frozen=True)
class Loss:
    """Records of one partition that can no longer be read, and why."""

    partition: PartitionId
    why: str

    def __str__(self) -> str:
        """Render as `<topic>/<partition>: why`."""
        return f"{self.partition}: {self.why}"


@dataclass(frozen=True)
class StartPlan:
    """The position to begin at, and what was lost before it could be read."""

    position: Position
    losses: tuple[Loss, ...] = ()

    def refuse_losses(self) -> None:
        """Stop here if anything was lost."""
        if self.losses:
            raise DataLost(
                f"records were lost before they were read: {'; '.join(map(str, self.losses))}",
                hint="set on_data_loss: continue to go on with what is left; retention.ms keeps records for longer",
                losses=[str(loss) for loss in self.losses],
            )


def plan_start(saved: Position | None, now: ClusterNow) -> StartPlan:
    """Go on where the query was; a topic read for the first time begins at the configured start.

    Partitions that a known topic has gained are read from their first record. A topic that was made anew is read
    from its first record too: its offsets began again, so what is saved says nothing about it.
    """
    found = {partition: _begin(partition, saved, now) for partition in now.first}
    losses = tuple(loss for _, loss in found.values() if loss is not None)
    return StartPlan(Position({partition: offset for partition, (offset, _) in found.items()}, now.topic_ids), losses)


def _begin(partition: PartitionId, saved: Position | None, now: ClusterNow) -> tuple[Offset, Loss | None]:
    topic, first, end = partition.topic, now.first[partition], now.end[partition]
    if saved is None or topic not in saved.topic_ids:
        return now.fresh[partition], None
    if saved.topic_ids[topic] != now.topic_ids[topic]:
        return first, Loss(partition, "the topic was deleted and made anew")
    offset = saved.offsets.get(partition, first)
    if offset < first:
        return first, Loss(partition, f"retention removed offsets {offset} to {first - 1}")
    if offset > end:
        return end, Loss(partition, f"the log ends at {end}, but {offset} was already reached")
    return offset, None
