"""Start position of a query: a pure decision from the saved position and the state of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import DataLost
from penstock.events.record import Offset, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.spark.queries.position import NOWHERE, Position, same_topics, with_absent


@dataclass(frozen=True)
class ClusterNow:
    """Partitions of the source: first and end offsets, offsets of the configured start, and topic ids.

    `later` contains different start offsets, for topics that a query discovers after its first run.
    """

    first: Offsets
    end: Offsets
    fresh: Offsets
    topic_ids: Mapping[TopicName, str]
    later: Offsets = field(default_factory=dict)


@dataclass(frozen=True)
class Loss:
    """Lost records of a partition, and the reason."""

    partition: PartitionId
    why: str

    def __str__(self) -> str:
        """Render as `<topic>/<partition>: why`."""
        return f"{self.partition}: {self.why}"


@dataclass(frozen=True)
class StartPlan:
    """Start position of the query, position of the sink, and records lost before they were read."""

    position: Position
    landed: Position = NOWHERE
    losses: tuple[Loss, ...] = ()

    def refuse_losses(self) -> None:
        """Raise DataLost if records were lost."""
        if self.losses:
            raise DataLost(
                f"records were lost before they were read: {'; '.join(map(str, self.losses))}",
                hint="set on_data_loss: continue to go on with what is left; retention.ms keeps records for longer",
                losses=[str(loss) for loss in self.losses],
            )


def plan_start(saved: Position | None, now: ClusterNow, landed: Position = NOWHERE) -> StartPlan:
    """Continue at the query's position; start a new topic at the configured start.

    New partitions of a known topic are read from the first record. A recreated topic is also read from the first
    record: the offsets restarted, so the saved offsets do not apply. A topic added to the source again continues at the
    sink's position.

    Landed messages are read again from the saved position on, only for the dead letters. If the log was truncated below
    a landed offset, new records reuse the offsets, so `landed` is limited to the end of the log.
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
    """Return the landed position, limited to the current ends of the logs."""
    same = same_topics(landed, Position({}, now.topic_ids))
    ends = {place: min(offset, now.end.get(place, offset)) for place, offset in same.items()}
    return Position({**landed.offsets, **ends}, landed.topic_ids)


def _cut_back(landed: Position, valid: Position, losses: list[Loss]) -> Iterator[Loss]:
    """Yield the losses of partitions whose log ends before the landed offset; skip known losses."""
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
