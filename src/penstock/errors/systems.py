"""Errors of external systems: Kafka, Connect, databases, and targets of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors.base import PenstockError, Terminal, Transient


class TopicNotFound(Terminal, LookupError):
    """The cluster has no such topic."""

    code = "kafka.topic_not_found"


class TopicExists(Terminal):
    """A topic with that name already exists."""

    code = "kafka.topic_exists"


class GroupNotFound(Terminal, LookupError):
    """The cluster has no such consumer group."""

    code = "kafka.group_not_found"


class GroupBusy(Terminal):
    """The consumer group has running members, so its offsets cannot be changed."""

    code = "kafka.group_busy"


class KafkaRefused(Terminal):
    """The broker rejected a request for a reason that a retry does not change."""

    code = "kafka.refused"


class NotAuthorized(Terminal, PermissionError):
    """The user lacks a right; the message names the right."""

    code = "kafka.not_authorized"


class AuthenticationFailed(Terminal):
    """The cluster does not accept the user, the password or the certificate."""

    code = "kafka.authentication"


class BrokerUnavailable(Transient, ConnectionError):
    """No broker answers at the address."""

    code = "kafka.unavailable"


class DeliveryFailed(Transient):
    """The broker did not acknowledge a record in time; `details["record"]` has the record."""

    code = "kafka.delivery_failed"


@dataclass(frozen=True)
class UndeliveredRecord:
    """A record that the broker did not acknowledge, ready to be sent again, and the reason."""

    topic: str
    key: object
    value: object
    partition: int | None
    timestamp: int | None
    headers: Sequence[tuple[str, str | bytes | None]]
    reason: PenstockError


class Undelivered(DeliveryFailed):
    """Records were not delivered: `count` is their number, `records` has the first 100,000 at most."""

    code = "kafka.undelivered"

    def __init__(self, message: str, *, hint: str, count: int, records: Sequence[UndeliveredRecord]) -> None:
        super().__init__(message, hint=hint, count=count)
        self.count = count
        self.records = tuple(records)


class CommitFailed(Transient):
    """The group's offsets were not committed, so records will be read again; `details["offsets"]` has the offsets."""

    code = "kafka.commit_failed"


class BufferFull(Transient):
    """The producer's buffer stayed full for the maximum wait of the call."""

    code = "kafka.buffer_full"


class ConnectRefused(Terminal):
    """Kafka Connect rejected the request, or the server at its address is not Kafka Connect."""

    code = "connect.refused"


class ConnectorNotFound(Terminal, LookupError):
    """Kafka Connect has no such connector."""

    code = "connect.not_found"


class ConnectorFailed(Terminal):
    """A connector or its task failed; the message has the innermost cause."""

    code = "connect.failed"


class ConnectUnavailable(Transient, ConnectionError):
    """Kafka Connect does not answer at its address."""

    code = "connect.unavailable"


class DatabaseRefused(Terminal):
    """The database rejects the user, the database name or a statement."""

    code = "database.refused"


class DatabaseUnfit(Terminal):
    """The database lacks a prerequisite of change capture or verification; the hint explains the fix."""

    code = "database.unfit"


class DatabaseUnavailable(Transient, ConnectionError):
    """No database answers at the address, or the database accepts no more connections."""

    code = "database.unavailable"


class TargetRefused(Terminal):
    """An action's target, such as a web server or a command, rejected an event."""

    code = "action.refused"


class TargetUnavailable(Transient, ConnectionError):
    """An action's target does not answer, or asks for a later retry."""

    code = "action.unavailable"
