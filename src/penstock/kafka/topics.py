"""Create, extend and delete topics."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from penstock.config import Settings
from penstock.errors import OperationTimedOut, TopicExists, TopicNotFound, UsageError
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster, read_layouts
from penstock.kafka.errors import Right

MAX_LETTER_BYTES = 32 * 1024 * 1024
"""Limit for dead letters, which may be as large as the largest message accepted by their source topic."""

_BROKERS_DEFAULT = -1
_PAUSE = 0.05


def create_topic(
    admin: Admin,
    name: str,
    *,
    partitions: int | None = None,
    replication: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Create a topic and wait until each partition has a leader. Missing values use the brokers' defaults."""
    new = NewTopic(
        name,
        num_partitions=_BROKERS_DEFAULT if partitions is None else partitions,
        replication_factor=_BROKERS_DEFAULT if replication is None else replication,
        config=dict(settings or {}),
    )
    needs = [Right("CREATE", "topic", name)]
    admin.order(AdminClient.create_topics, [new], tried=f"creating topic '{name}'", needs=needs)
    _await_leaders(admin, name)


def ensure_topic(
    settings: Settings,
    name: str,
    partitions: int | None = None,
    replication: int | None = None,
    config: Mapping[str, str] | None = None,
) -> bool:
    """Create the topic if it does not exist. Return True if it was created; existing topics stay unchanged."""
    with Admin(settings) as admin:
        try:
            create_topic(admin, name, partitions=partitions, replication=replication, settings=config)
        except TopicExists:
            return False
    return True


def ensure_dead_letters(settings: Settings, name: str) -> bool:
    """Create a dead-letter topic if it does not exist. Letters never expire, and may be large.

    Return True if the topic was created.
    """
    return ensure_topic(settings, name, config={"retention.ms": "-1", "max.message.bytes": str(MAX_LETTER_BYTES)})


def add_partitions(admin: Admin, name: str, total: int) -> None:
    """Increase the number of partitions of a topic to `total`."""
    tried, needs = f"adding partitions to topic '{name}'", [Right("ALTER", "topic", name)]
    admin.order(AdminClient.create_partitions, [NewPartitions(name, total)], tried=tried, needs=needs)
    _await_leaders(admin, name)


def delete_topic(admin: Admin, name: str) -> None:
    """Delete a topic and its records. TopicNotFound has a hint with the closest name."""
    tried, needs = f"deleting topic '{name}'", [Right("DELETE", "topic", name)]
    try:
        admin.order(AdminClient.delete_topics, [name], tried=tried, needs=needs)
    except TopicNotFound:
        read_cluster(admin).layouts(name)
        raise


def moved_share(before: int, after: int) -> float:
    """Return the share of hashed keys with a new partition after a change of the number of partitions.

    A key stays if its hash has equal remainders for both numbers: min(before, after) of each lcm(before, after) hashes
    do.
    """
    if min(before, after) < 1:
        raise UsageError("a topic has at least one partition")
    return 1 - min(before, after) / math.lcm(before, after)


def _await_leaders(admin: Admin, name: str) -> None:
    """Wait for all leaders: brokers learn of new partitions with a delay, and an early client finds no leader."""
    deadline = time.monotonic() + admin.settings.timeout
    while not _led(admin, name):
        if time.monotonic() > deadline:
            raise OperationTimedOut(
                f"topic '{name}' is made, but not every partition found a leader in {admin.settings.timeout:g} s",
                hint="`penstock topics describe` shows the brokers that are missing",
            )
        time.sleep(_PAUSE)


def _led(admin: Admin, name: str) -> bool:
    try:
        return all(layout.leader is not None for layout in read_layouts(admin, name))
    except TopicNotFound:
        return False
