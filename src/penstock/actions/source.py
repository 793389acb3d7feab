"""Kafka source of a pipeline: topics and start position."""

from __future__ import annotations

import logging
from collections.abc import Collection

from penstock.actions.clients import Clients
from penstock.actions.source_spec import KafkaSource
from penstock.errors import GroupBusy, TopicNotFound
from penstock.events.record import GroupName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster
from penstock.kafka.group_reader import GroupReader
from penstock.kafka.offsets import Offsets, PartitionId, commit_offsets, committed_offsets
from penstock.kafka.rebalance import Callbacks
from penstock.kafka.start import find_partitions, moment, starting_offsets

_log = logging.getLogger(__name__)


def open_reader(source: KafkaSource, clients: Clients, callbacks: Callbacks) -> GroupReader:
    """Return a reader at the source's start position. Raise TopicNotFound if no topic of the source exists."""
    topics = list(source.routes())
    with Admin(clients.consumer) as admin:
        partitions = find_partitions(admin, present_topics(admin, topics))
        if source.stateless:
            starts = starting_offsets(admin, partitions, moment(_stateless_start(source.start)))
            return GroupReader(clients.consumer, topics, None, starts=starts, callbacks=callbacks)
        _move_group(admin, source.start, clients, partitions)
    # Every partition found above has an offset by now. A partition without an offset is newer: all its records are new.
    return GroupReader(clients.consumer, topics, clients.group, fallback="earliest", callbacks=callbacks)


def present_topics(admin: Admin, topics: Collection[str]) -> list[str]:
    """Return the existing topics. Raise TopicNotFound if none exists."""
    there = read_cluster(admin).topics
    found = [topic for topic in topics if topic in there]
    if not found:
        hint = "name others in source.config.topic_routes; `penstock topics list` shows what is there"
        raise TopicNotFound(f"not one of the topics is there: {', '.join(topics)}", hint=hint)
    missing = [topic for topic in topics if topic not in there]
    if missing:
        _log.info("not there yet, and read as soon as they are: %s", ", ".join(missing))
    return found


def _stateless_start(start: str) -> str:
    return "latest" if start == "committed" else start


def _move_group(admin: Admin, start: str, clients: Clients, partitions: Collection[PartitionId]) -> None:
    """Move the group to its start, or commit missing offsets, so that a restart misses no records.

    A group with members stays unchanged: the members were started from the same file and have set the offsets.
    """
    group = GroupName(clients.group)
    offsets = _wanted(admin, start, clients, partitions)
    try:
        if offsets:
            commit_offsets(admin, group, offsets)
    except GroupBusy:
        _log.info("group '%s' has members already, so this one goes on where they are", group)


def _wanted(admin: Admin, start: str, clients: Clients, partitions: Collection[PartitionId]) -> Offsets:
    if start != "committed":
        return starting_offsets(admin, partitions, moment(start))
    placed = committed_offsets(admin, GroupName(clients.group), partitions)
    return starting_offsets(admin, [place for place in partitions if place not in placed], clients.fallback)
