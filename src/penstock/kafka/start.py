"""Start of reading: the partitions of topics, and their offsets at a start time."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

from penstock.config import Settings
from penstock.config.units import parse_time
from penstock.errors import TopicNotFound, UsageError
from penstock.events.record import GroupName, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import Layout, is_internal, read_cluster, read_layouts
from penstock.kafka.offsets import Offsets, PartitionId, commit_offsets, end_offsets, first_offsets, offsets_at

Fallback = Literal["earliest", "latest"]
Start = str | datetime
"""`earliest`, `latest`, or a time, also as text: ISO 8601 or an age such as `2h ago`."""

Moment = Fallback | datetime


def moment(start: Start) -> Moment:
    """Return the start with its text parsed."""
    match start:
        case "earliest" | "latest" | datetime():
            return start
        case _:
            return parse_time(start)


def topic_names(topics: str | Sequence[str]) -> list[str]:
    """Return the topics or `^patterns` as a list. Raise UsageError if empty or if a pattern is invalid."""
    names = [topics] if isinstance(topics, str) else list(topics)
    if not names or not all(names):
        raise UsageError("a consumer needs the name of a topic", hint="name one, a list, or a pattern: '^orders-.*'")
    for name in filter(is_pattern, names):
        try:
            re.compile(name)
        except re.error as error:
            raise UsageError(f"{name!r} is not a regular expression: {error}") from error
    return names


def is_pattern(topic: str) -> bool:
    """Whether this is a regular expression for topic names."""
    return topic.startswith("^")


def prepare(settings: Settings, topics: Collection[str], group: str | None, start: Moment | None) -> Offsets:
    """Check that the topics exist, and return the offsets of `start` in every partition.

    A group is moved to these offsets, which the broker allows only while the group has no members. Without a start the
    result is empty: a group continues at its committed offsets.
    """
    with Admin(settings) as admin:
        partitions = find_partitions(admin, topics)
        if start is None:
            return {}
        if not partitions and group is None:
            raise TopicNotFound(
                f"no topic matches {' or '.join(topics)}", hint="`penstock topics list` shows what is there"
            )
        offsets = starting_offsets(admin, partitions, start)
        if group is not None and offsets:
            commit_offsets(admin, GroupName(group), offsets)
        return offsets


def find_partitions(admin: Admin, topics: Collection[str]) -> list[PartitionId]:
    """Return all partitions of the topics, which must exist. A pattern may match none yet."""
    patterns = [topic for topic in topics if is_pattern(topic)]
    named = [topic for topic in topics if not is_pattern(topic)]
    found = {topic: read_layouts(admin, topic) for topic in named} | _matching(admin, patterns)
    return [PartitionId(TopicName(topic), layout.partition) for topic, layouts in found.items() for layout in layouts]


def _matching(admin: Admin, patterns: Collection[str]) -> dict[str, tuple[Layout, ...]]:
    if not patterns:
        return {}
    return {
        topic: layouts
        for topic, layouts in read_cluster(admin).topics.items()
        if not is_internal(topic) and any(re.search(pattern, topic) for pattern in patterns)
    }


def starting_offsets(admin: Admin, partitions: Collection[PartitionId], start: Moment) -> Offsets:
    """Return the offsets of a start in each partition."""
    if start == "earliest":
        return first_offsets(admin, partitions)
    if start == "latest":
        return end_offsets(admin, partitions)
    return offsets_at(admin, partitions, start)
