"""Consumer groups: members, coordinator and lag."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, ListConsumerGroupsResult, MemberDescription

from penstock.config.suggest import did_you_mean
from penstock.errors import GroupNotFound
from penstock.events.record import GroupName, Offset, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import Cluster, is_internal, read_cluster
from penstock.kafka.errors import Right, translate
from penstock.kafka.offsets import Offsets, PartitionId, end_offsets, fetch_committed, partition_id

_ASKED_AT_ONCE = 4
_REBALANCING = (ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING)


@dataclass(frozen=True)
class Member:
    """A consumer of a group, and its assigned partitions."""

    client_id: str
    host: str
    member_id: str
    instance_id: str | None
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True)
class Place:
    """Position of a group in a partition. The lag is unknown if nothing is committed."""

    partition: PartitionId
    committed: Offset | None
    end: Offset

    @property
    def lag(self) -> int | None:
        """Number of records that the group has not read yet."""
        return None if self.committed is None else max(self.end - self.committed, 0)


@dataclass(frozen=True)
class Group:
    """Snapshot of a consumer group."""

    name: GroupName
    state: str
    kind: str
    assignor: str
    coordinator: str
    members: tuple[Member, ...]
    places: tuple[Place, ...]

    @property
    def lag(self) -> int:
        """Number of records that the group has not read yet, in partitions with a known lag."""
        return sum(place.lag or 0 for place in self.places)

    @property
    def idle(self) -> tuple[Member, ...]:
        """Members of a stable group without partitions: there are more members than partitions."""
        settled = self.state == "stable"
        return tuple(member for member in self.members if settled and not member.partitions)


def list_groups(admin: Admin) -> list[Group]:
    """Return all groups that the user may see."""
    names = _names(admin)
    return _groups(admin, names, read_cluster(admin)) if names else []


def describe_group(admin: Admin, name: str) -> Group:
    """Return a group. GroupNotFound has a hint with the closest name."""
    found = _groups(admin, [GroupName(name)], read_cluster(admin))
    if found:
        return found[0]
    hint = did_you_mean(name, _names(admin), "`penstock groups list` shows what is there")
    raise GroupNotFound(f"there is no group '{name}'", hint=hint, group=name)


def _names(admin: Admin) -> list[GroupName]:
    tried, needs = "listing groups", [Right("DESCRIBE", "cluster")]
    listing = admin.ask(_listing, tried=tried, needs=needs)["groups"]
    for failure in listing.errors:
        raise translate(failure.args[0], tried, needs=needs, user=admin.user)
    return sorted(GroupName(found.group_id) for found in listing.valid)


def _listing(client: AdminClient, request_timeout: float) -> dict[str, Future[ListConsumerGroupsResult]]:
    return {"groups": client.list_consumer_groups(request_timeout=request_timeout)}


def _groups(admin: Admin, names: list[GroupName], cluster: Cluster) -> list[Group]:
    described = _described(admin, names)
    everywhere = [partition for topic in cluster.topics if not is_internal(topic) for partition in _all(cluster, topic)]
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        found = pool.map(lambda name: fetch_committed(admin, name, everywhere), described)
    committed = dict(zip(described, found, strict=True))
    read = {name: _read(cluster, described[name], committed[name]) for name in described}
    ends = end_offsets(admin, {partition for places in read.values() for partition in places})
    return [
        _group(name, group, [Place(each, committed[name].get(each), ends[each]) for each in read[name]])
        for name, group in described.items()
    ]


def _described(admin: Admin, names: list[GroupName]) -> dict[GroupName, ConsumerGroupDescription]:
    needs = [Right("DESCRIBE", "group", name) for name in names]
    tried = f"describing group {', '.join(repr(name) for name in names)}"
    try:
        found = admin.ask(AdminClient.describe_consumer_groups, names, tried=tried, needs=needs)
    except GroupNotFound:
        return {}
    return {GroupName(name): group for name, group in found.items() if group.state is not ConsumerGroupState.DEAD}


def _read(cluster: Cluster, group: ConsumerGroupDescription, committed: Offsets) -> list[PartitionId]:
    """Return every partition that has a leader, for each topic committed by or assigned to the group."""
    assigned = {partition for member in group.members for partition in _partitions(member)}
    topics = {partition.topic for partition in (*committed, *assigned)}
    return [partition for topic in sorted(topics) for partition in _all(cluster, topic)]


def _all(cluster: Cluster, topic: TopicName) -> list[PartitionId]:
    layouts = cluster.topics.get(topic, ())
    return [PartitionId(topic, layout.partition) for layout in layouts if layout.leader is not None]


def _partitions(member: MemberDescription) -> list[PartitionId]:
    return sorted(partition_id(place) for place in member.assignment.topic_partitions)


def _group(name: GroupName, found: ConsumerGroupDescription, places: list[Place]) -> Group:
    node = found.coordinator
    return Group(
        name,
        state="rebalancing" if found.state in _REBALANCING else found.state.name.lower(),
        kind=found.type.name.lower(),
        assignor=found.partition_assignor,
        coordinator=f"broker {node.id} ({node.host}:{node.port})",
        members=tuple(_member(member) for member in found.members),
        places=tuple(places),
    )


def _member(member: MemberDescription) -> Member:
    partitions = tuple(_partitions(member))
    return Member(member.client_id, member.host.lstrip("/"), member.member_id, member.group_instance_id, partitions)
