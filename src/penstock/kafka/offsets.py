"""Offsets: first, end, by timestamp, and committed by a group."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.errors import GroupNotFound
from penstock.events.record import GroupName, Offset, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.errors import Right, translated
from penstock.kafka.options import client_options
from penstock.kafka.repeat import TURN, until_answered
from penstock.kafka.watch import ConnectionWatch

_MS = 1000


class PartitionId(NamedTuple):
    """A partition of a topic, written `<topic>/<partition>`."""

    topic: TopicName
    partition: Partition

    def __str__(self) -> str:
        """Render as `<topic>/<partition>`."""
        return f"{self.topic}/{self.partition}"


Offsets = dict[PartitionId, Offset]


def nested(offsets: Mapping[PartitionId, Offset]) -> dict[str, dict[str, int]]:
    """Return offsets in the JSON form that Spark uses too: `{"topic": {"0": 17}}`."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def first_offsets(admin: Admin, partitions: Collection[PartitionId]) -> Offsets:
    """Return the offset of the oldest remaining record in each partition."""
    return _listed(admin, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # confluent_kafka left the type out


def end_offsets(admin: Admin, partitions: Collection[PartitionId]) -> Offsets:
    """Return the offset that the next record of each partition will get."""
    return _listed(admin, partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above


def offsets_at(admin: Admin, partitions: Collection[PartitionId], when: datetime) -> Offsets:
    """Return each partition's first offset at or after a time; its end if no record is that recent."""
    found = _listed(admin, partitions, OffsetSpec.for_timestamp(int(when.timestamp() * _MS)))
    too_old = [partition for partition, offset in found.items() if offset < 0]
    return {**found, **end_offsets(admin, too_old)}


def committed_offsets(admin: Admin, group: GroupName, partitions: Collection[PartitionId]) -> Offsets:
    """Return the group's committed offsets; partitions without a committed offset are left out."""
    tried, needs = f"describing group '{group}'", [Right("DESCRIBE", "group", group)]
    try:
        admin.ask(AdminClient.describe_consumer_groups, [group], tried=tried, needs=needs)
    except GroupNotFound:
        return {}
    return fetch_committed(admin, group, partitions)


def fetch_committed(admin: Admin, group: GroupName, partitions: Collection[PartitionId]) -> Offsets:
    """Like `committed_offsets`, for a group that exists and is visible to the user; otherwise times out.

    The request uses a consumer with the group's name that never joins, because librdkafka's administrative call crashes
    the process when the group's coordinator has moved.
    """
    if not partitions:
        return {}
    deadline, watch = time.monotonic() + admin.settings.timeout, ConnectionWatch()
    try:
        found = until_answered(lambda: _committed(admin, group, partitions, watch), deadline)
    except KafkaException as failure:
        tried, needs = f"reading the offsets of group '{group}'", [Right("DESCRIBE", "group", group)]
        raise admin.explained(watch, failure, tried, needs) from failure
    return {partition_id(place): Offset(place.offset) for place in found if place.offset >= 0}


def _committed(
    admin: Admin, group: GroupName, partitions: Collection[PartitionId], watch: ConnectionWatch
) -> list[TopicPartition]:
    places = [TopicPartition(*partition) for partition in partitions]
    consumer = Consumer(client_options(admin.settings, group__id=group, enable__auto__commit=False, error_cb=watch))
    try:
        return consumer.committed(places, min(TURN, admin.settings.timeout))
    finally:
        consumer.poll(0)
        consumer.close()


def commit_offsets(admin: Admin, group: GroupName, offsets: Mapping[PartitionId, Offset]) -> None:
    """Set the offsets of a group without members."""
    places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    tried = f"setting the offsets of group '{group}'"
    needs = [Right("READ", "group", group), *_rights("READ", offsets)]
    request = [ConsumerGroupTopicPartitions(group, places)]

    def commit() -> None:
        answers = admin.ask(AdminClient.alter_consumer_group_offsets, request, tried=tried, needs=needs)
        for place in (place for answer in answers.values() for place in answer.topic_partitions):
            if place.error is not None:
                raise KafkaException(place.error)

    with translated(tried, needs=needs, user=admin.user):
        until_answered(commit, time.monotonic() + admin.settings.timeout)


def commit_progress(admin: Admin, group: GroupName, offsets: Mapping[PartitionId, Offset]) -> None:
    """Like `commit_offsets`, for a program that commits repeatedly while brokers come and go.

    The request uses a consumer that never joins, for the reason given in `fetch_committed`.
    """
    places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    deadline, watch = time.monotonic() + admin.settings.timeout, ConnectionWatch()
    try:
        until_answered(lambda: _commit(admin, group, places, watch), deadline)
    except KafkaException as failure:
        tried, needs = f"committing to group '{group}'", [Right("READ", "group", group), *_rights("READ", offsets)]
        raise admin.explained(watch, failure, tried, needs) from failure


def _commit(admin: Admin, group: GroupName, places: list[TopicPartition], watch: ConnectionWatch) -> None:
    consumer = Consumer(client_options(admin.settings, group__id=group, enable__auto__commit=False, error_cb=watch))
    try:
        for place in consumer.commit(offsets=places, asynchronous=False) or ():
            if place.error is not None:
                raise KafkaException(place.error)
    finally:
        consumer.poll(0)
        consumer.close()


def _listed(admin: Admin, partitions: Collection[PartitionId], spec: OffsetSpec) -> Offsets:
    if not partitions:
        return {}
    needs = _rights("DESCRIBE", partitions)
    found = admin.ask(
        AdminClient.list_offsets,
        {TopicPartition(*partition): spec for partition in partitions},
        tried=f"reading offsets of {', '.join(right.name for right in needs)}",
        needs=needs,
    )
    return {partition_id(place): Offset(info.offset) for place, info in found.items()}


def _rights(operation: str, partitions: Collection[PartitionId]) -> list[Right]:
    return [Right(operation, "topic", topic) for topic in sorted({partition.topic for partition in partitions})]


def partition_id(place: TopicPartition) -> PartitionId:
    """Return the PartitionId of librdkafka's TopicPartition."""
    return PartitionId(TopicName(place.topic), Partition(place.partition))
