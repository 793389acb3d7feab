"""Where a query begins to read: a pure decision from what it has saved and what the cluster has now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import DataLost
from penstock.events.record import Offset, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.spark.queries.position import NOWHERE, Position, same_topics, with_absent


@dataclass(frozen=True)
class ClusterNow:
    """The partitions of the source: where they begin and end, where the configured start falls, and the topics' ids.

    `later` has other starts, for topics that the query does not know although it has run before.
    """

    first: Offsets
    end: Offsets
    fresh: Offsets
    topic_ids: Mapping[TopicName, str]
    later: Offsets = field(default_factory=dict)


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
    """The position to begin at, that of the sink, and what was lost before it could be read."""

    position: Position
    landed: Position = NOWHERE
    losses: tuple[Loss, ...] = ()

    def refuse_losses(self) -> None:
        """Stop here if anything was lost."""
        if self.losses:
            raise DataLost(
                f"records were lost before they were read: {'; '.join(map(str, self.losses))}",
                hint="set on_data_loss: continue to go on with what is left; retention.ms keeps records for longer",
                losses=[str(loss) for loss in self.losses],
            )


def plan_start(saved: Position | None, now: ClusterNow, landed: Position = NOWHERE) -> StartPlan:
    """Go on where the query was; a topic read for the first time begins at the configured start.

    Partitions that a known topic has gained are read from their first record. A topic that was made anew is read
    from its first record too: its offsets began again, so what is saved says nothing about it. A topic that the source
    has again goes on where the sink is.

    What has `landed` is read again from the saved position on, for its dead letters alone. Where the log was cut back
    behind it, new records have taken its offsets, so it counts up to the end of the log only.
    """
    valid = _capped(landed, now)
    in_sink = same_topics(valid, Position({}, now.topic_ids))
    in_sink_ids = {place.topic: now.topic_ids[place.topic] for place in in_sink}
    known = with_absent(saved, Position(in_sink, in_sink_ids)) if saved else None
    found = {partition: _begin(partition, known, now, in_sink) for partition in now.first}
    begun = {partition: offset for partition, (offset, _) in found.items()}
    losses = [loss for _, loss in found.values() if loss is not None]
    return StartPlan(Position(begun, now.topic_ids), valid, (*losses, *_cut_back(landed, valid, losses)))


def _capped(landed: Position, now: ClusterNow) -> Position:
    """What has landed, up to the ends of the logs as they are now."""
    same = same_topics(landed, Position({}, now.topic_ids))
    ends = {place: min(offset, now.end.get(place, offset)) for place, offset in same.items()}
    return Position({**landed.offsets, **ends}, landed.topic_ids)


def _cut_back(landed: Position, valid: Position, losses: list[Loss]) -> Iterator[Loss]:
    """The losses of partitions whose log ends before what has landed, unless they are known already."""
    known = {loss.partition for loss in losses}
    for place, offset in landed.offsets.items():
        if offset > valid.offsets[place] and place not in known:
            yield Loss(place, f"the log ends at {valid.offsets[place]}, but {offset} was already reached")


def _begin(
    partition: PartitionId, saved: Position | None, now: ClusterNow, in_sink: Offsets
) -> tuple[Offset, Loss | None]:
    topic, first, end = partition.topic, now.first[partition], now.end[partition]
    if saved is None:
        return now.fresh[partition], None
    if topic not in saved.topic_ids:
        return now.later.get(partition, now.fresh[partition]), None
    if saved.topic_ids[topic] != now.topic_ids[topic]:
        return first, Loss(partition, "the topic was deleted and made anew")
    offset = saved.offsets.get(partition, first)
    if offset < first:
        unread = max(offset, in_sink.get(partition, offset))
        gone = Loss(partition, f"retention removed offsets {unread} to {first - 1}") if unread < first else None
        return first, gone
    if offset > end:
        return end, Loss(partition, f"the log ends at {end}, but {offset} was already reached")
    return offset, None
