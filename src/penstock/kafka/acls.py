"""Grant ACL rights to users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from penstock.kafka.admin import Admin
from penstock.kafka.errors import Right

_RESOURCES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.BROKER,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}


class Grant(NamedTuple):
    """A right of a user. `prefixed` covers every resource with this name prefix; the name `*` covers all."""

    user: str
    right: Right
    prefixed: bool = False


def grant_rights(admin: Admin, grants: Iterable[Grant]) -> None:
    """Grant the rights to the users; existing rights stay."""
    bindings = [_binding(grant) for grant in grants]
    admin.order(AdminClient.create_acls, bindings, tried="granting rights to users", needs=[Right("ALTER", "cluster")])


def _binding(grant: Grant) -> AclBinding:
    return AclBinding(
        _RESOURCES[grant.right.resource],
        grant.right.name,
        ResourcePatternType.PREFIXED if grant.prefixed else ResourcePatternType.LITERAL,
        f"User:{grant.user}",
        "*",
        AclOperation[grant.right.operation],
        AclPermissionType.ALLOW,
    )
