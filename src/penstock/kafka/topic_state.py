"""State of topics: summaries for lists, and one topic in full."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.errors import KafkaRefused, NotAuthorized
from penstock.events.record import Offset, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import BrokerId, Layout, is_internal, read_cluster, read_layouts
from penstock.kafka.configs import Setting, topic_settings
from penstock.kafka.log_dirs import read_log_dirs
from penstock.kafka.offsets import Offsets, PartitionId, end_offsets, first_offsets

LeaderSizes = Mapping[tuple[BrokerId | None, PartitionId], int]


@dataclass(frozen=True)
class TopicSummary:
    """Summary of a topic. `records` counts all offsets from first to last; some may be compacted away."""

    name: TopicName
    partitions: int
    replication: int
    records: int
    under_replicated: int


@dataclass(frozen=True)
class PartitionState:
    """Placement, first and end offset, and size on the leader's disk of a partition."""

    layout: Layout
    first: Offset | None
    end: Offset | None
    size: int | None

    @property
    def records(self) -> int | None:
        """Approximate number of records."""
        return None if self.first is None or self.end is None else self.end - self.first


@dataclass(frozen=True)
class TopicState:
    """A topic in full. `notes` explain missing details."""

    name: TopicName
    partitions: tuple[PartitionState, ...]
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]


def list_topics(admin: Admin, *, internal: bool = False) -> list[TopicSummary]:
    """Return all topics that the user may see, Kafka's internal topics only with `internal`."""
    cluster = read_cluster(admin)
    shown = {name: layouts for name, layouts in cluster.topics.items() if internal or not is_internal(name)}
    led = [partition for name, layouts in shown.items() for partition in _with_leader(name, layouts)]
    first, end = first_offsets(admin, led), end_offsets(admin, led)
    records = dict.fromkeys(shown, 0)
    for partition in led:
        records[partition.topic] += end[partition] - first[partition]
    return [_summary(name, layouts, records[name]) for name, layouts in shown.items()]


def describe_topic(admin: Admin, name: str) -> TopicState:
    """Return a topic in full, or without the details that the user may not see."""
    topic, layouts = TopicName(name), read_layouts(admin, name)
    led = _with_leader(topic, layouts)
    first, end = first_offsets(admin, led), end_offsets(admin, led)
    notes: list[str] = []
    sizes = _sizes(admin, topic, notes)
    settings = _settings(admin, topic, notes)
    return TopicState(topic, _states(topic, layouts, first, end, sizes), settings, tuple(notes))


def _with_leader(topic: TopicName, layouts: Collection[Layout]) -> list[PartitionId]:
    return [PartitionId(topic, layout.partition) for layout in layouts if layout.leader is not None]


def _summary(name: TopicName, layouts: tuple[Layout, ...], records: int) -> TopicSummary:
    return TopicSummary(
        name,
        partitions=len(layouts),
        replication=max((len(layout.replicas) for layout in layouts), default=0),
        records=records,
        under_replicated=sum(bool(layout.missing) for layout in layouts),
    )


def _sizes(admin: Admin, topic: TopicName, notes: list[str]) -> LeaderSizes:
    try:
        found = read_log_dirs(admin, [topic])
    except (NotAuthorized, KafkaRefused) as error:
        notes.append(error.message)
        return {}
    return {(place.broker, partition): size for place in found for partition, size in place.sizes.items()}


def _settings(admin: Admin, topic: TopicName, notes: list[str]) -> tuple[Setting, ...]:
    try:
        return tuple(topic_settings(admin, topic))
    except NotAuthorized as error:
        notes.append(error.message)
        return ()


def _states(
    topic: TopicName,
    layouts: tuple[Layout, ...],
    first: Offsets,
    end: Offsets,
    sizes: LeaderSizes,
) -> tuple[PartitionState, ...]:
    ids = [PartitionId(topic, layout.partition) for layout in layouts]
    return tuple(
        PartitionState(layout, first.get(partition), end.get(partition), sizes.get((layout.leader, partition)))
        for partition, layout in zip(ids, layouts, strict=True)
    )
