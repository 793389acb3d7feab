"""Cluster metadata: brokers, topics, and the placement of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, BrokerMetadata, ClusterMetadata, PartitionMetadata

from penstock.config.suggest import did_you_mean
from penstock.errors import TopicNotFound
from penstock.events.record import Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.errors import Right

BrokerId = NewType("BrokerId", int)

_NO_BROKER = -1


@dataclass(frozen=True)
class Layout:
    """Placement of a partition: leader, replicas, and in-sync replicas."""

    partition: Partition
    leader: BrokerId | None
    replicas: tuple[BrokerId, ...]
    in_sync: tuple[BrokerId, ...]

    @property
    def missing(self) -> tuple[BrokerId, ...]:
        """Replicas that lag behind or are down."""
        return tuple(broker for broker in self.replicas if broker not in self.in_sync)


@dataclass(frozen=True)
class Broker:
    """A broker, with the number of partitions led and stored."""

    id: BrokerId
    host: str
    port: int
    leads: int
    keeps: int


@dataclass(frozen=True)
class Cluster:
    """Snapshot of brokers and topics."""

    id: str
    brokers: tuple[Broker, ...]
    topics: Mapping[TopicName, tuple[Layout, ...]]

    @property
    def replicas(self) -> int:
        """Number of partition copies in the cluster."""
        return sum(len(layout.replicas) for layouts in self.topics.values() for layout in layouts)

    def layouts(self, topic: str) -> tuple[Layout, ...]:
        """Return the partitions of a topic. Raise TopicNotFound with the closest name as a hint."""
        if topic in self.topics:
            return self.topics[TopicName(topic)]
        hint = did_you_mean(topic, self.topics, "`penstock topics list` shows what is there")
        raise TopicNotFound(f"there is no topic '{topic}'", hint=hint, topic=topic)


def is_internal(topic: str) -> bool:
    """Whether Kafka keeps its own state in the topic."""
    return topic.startswith("__")


def read_cluster(admin: Admin) -> Cluster:
    """Return the part of the cluster that the user may see."""
    return _cluster(admin.metadata())


def read_layouts(admin: Admin, topic: str) -> tuple[Layout, ...]:
    """Return the partitions of a topic. TopicNotFound has a hint with the closest name."""
    tried, needs = f"describing topic '{topic}'", [Right("DESCRIBE", "topic", topic)]
    try:
        found = admin.ask(AdminClient.describe_topics, TopicCollection([topic]), tried=tried, needs=needs)
    except TopicNotFound:
        return read_cluster(admin).layouts(topic)
    return tuple(
        Layout(
            Partition(info.id),
            BrokerId(info.leader.id) if info.leader is not None and info.leader.id != _NO_BROKER else None,
            tuple(BrokerId(node.id) for node in info.replicas),
            tuple(BrokerId(node.id) for node in info.isr),
        )
        for info in found[topic].partitions
    )


def _cluster(metadata: ClusterMetadata) -> Cluster:
    topics = {
        TopicName(name): tuple(_layout(part) for _, part in sorted(topic.partitions.items()))
        for name, topic in sorted(metadata.topics.items())
        if topic.error is None
    }
    everywhere = [layout for layouts in topics.values() for layout in layouts]
    brokers = (_broker(node, everywhere) for _, node in sorted(metadata.brokers.items()))
    return Cluster(str(metadata.cluster_id), tuple(brokers), topics)


def _layout(part: PartitionMetadata) -> Layout:
    return Layout(
        Partition(part.id),
        None if part.leader == _NO_BROKER else BrokerId(part.leader),
        tuple(map(BrokerId, part.replicas)),
        tuple(map(BrokerId, part.isrs)),
    )


def _broker(node: BrokerMetadata, layouts: list[Layout]) -> Broker:
    return Broker(
        BrokerId(node.id),
        str(node.host),
        node.port,
        leads=sum(layout.leader == node.id for layout in layouts),
        keeps=sum(node.id in layout.replicas for layout in layouts),
    )
