"""Move a group to other offsets: plan the move of each partition, then commit the plan on request."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.config.units import parse_time
from penstock.errors import GroupBusy, UsageError
from penstock.events.record import Offset, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_layouts
from penstock.kafka.groups import Group, describe_group
from penstock.kafka.offsets import Offsets, PartitionId, commit_offsets, end_offsets, first_offsets, offsets_at

_SHIFT = re.compile(r"[+-]\d+")


@dataclass(frozen=True)
class Earliest:
    """Move to the oldest record."""


@dataclass(frozen=True)
class Latest:
    """Move past the newest record."""


@dataclass(frozen=True)
class AtTime:
    """Move to the first record at or after a time."""

    when: datetime


@dataclass(frozen=True)
class AtOffset:
    """Move to an offset."""

    offset: int


@dataclass(frozen=True)
class Shift:
    """Move by a number of records, forward or back from the group's position."""

    by: int


Target = Earliest | Latest | AtTime | AtOffset | Shift


@dataclass(frozen=True)
class Move:
    """Current and new offset of a group in a partition, and the partition's end."""

    partition: PartitionId
    before: Offset | None
    after: Offset
    end: Offset


def parse_target(text: str) -> Target:
    """Parse a target: `earliest`, `latest`, a time, an offset, `+N` or `-N`."""
    named: dict[str, Target] = {"earliest": Earliest(), "latest": Latest()}
    if text in named:
        return named[text]
    if _SHIFT.fullmatch(text):
        return Shift(int(text))
    if text.isdecimal():
        return AtOffset(int(text))
    try:
        return AtTime(parse_time(text))
    except UsageError:
        hint = "earliest, latest, a time (2026-01-31T12:00, '2h ago'), an offset (100), or a shift (+10, -10)"
        raise UsageError(f"{text!r} is nowhere a group can go", hint=hint) from None


def destination(target: Target, first: Offset, end: Offset, committed: Offset | None, at_time: Offset) -> Offset:
    """Return the new offset, within the partition's range. A shift is relative to the committed or first offset."""
    match target:
        case Earliest():
            wanted: int = first
        case Latest():
            wanted = end
        case AtTime():
            wanted = at_time
        case AtOffset(offset):
            wanted = offset
        case Shift(by):
            wanted = (first if committed is None else committed) + by
    return Offset(min(max(wanted, first), end))


def plan_reset(
    admin: Admin, group: Group, target: Target, topics: Collection[str] = (), partitions: Collection[int] = ()
) -> list[Move]:
    """Return the planned moves; nothing is changed. A shift omits partitions without a committed offset."""
    chosen = _chosen(admin, group, topics, partitions)
    first, end = first_offsets(admin, chosen), end_offsets(admin, chosen)
    timed = offsets_at(admin, chosen, target.when) if isinstance(target, AtTime) else end
    committed = {place.partition: place.committed for place in group.places}
    return [
        Move(
            partition,
            before=committed.get(partition),
            after=destination(target, first[partition], end[partition], committed.get(partition), timed[partition]),
            end=end[partition],
        )
        for partition in chosen
        if not isinstance(target, Shift) or committed.get(partition) is not None
    ]


def reset_group(admin: Admin, name: str, moves: Sequence[Move]) -> None:
    """Commit the moves. GroupBusy names the members that are still running."""
    group = describe_group(admin, name)
    if group.members:
        running = ", ".join(sorted({f"{member.client_id} at {member.host}" for member in group.members}))
        raise GroupBusy(
            f"group '{name}' has {len(group.members)} running: {running}",
            hint="stop them first: what they commit would undo the reset",
            members=[member.member_id for member in group.members],
        )
    offsets: Offsets = {move.partition: move.after for move in moves}
    commit_offsets(admin, group.name, offsets)


def _chosen(admin: Admin, group: Group, topics: Collection[str], partitions: Collection[int]) -> list[PartitionId]:
    if partitions and len(topics) != 1:
        raise UsageError("a partition needs the one topic that it belongs to", hint="name it with --topic")
    if not topics:
        return _read(group)
    every = [
        PartitionId(TopicName(topic), layout.partition) for topic in topics for layout in read_layouts(admin, topic)
    ]
    unknown = set(partitions) - {partition.partition for partition in every}
    if unknown:
        raise UsageError(f"{', '.join(topics)} has no partition {min(unknown)}", hint=f"it has {len(every)}, from 0")
    return [partition for partition in every if not partitions or partition.partition in partitions]


def _read(group: Group) -> list[PartitionId]:
    if not group.places:
        raise UsageError(f"group '{group.name}' has read nothing yet", hint="name what it shall read with --topic")
    return [place.partition for place in group.places]
