"""Errors of the systems beside us: Kafka, Connect, databases, and what actions talk to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors.base import PenstockError, Terminal, Transient


class TopicNotFound(Terminal, LookupError):
    """The cluster has no such topic."""

    code = "kafka.topic_not_found"


class TopicExists(Terminal):
    """A topic of that name is there already."""

    code = "kafka.topic_exists"


class GroupNotFound(Terminal, LookupError):
    """The cluster has no such consumer group."""

    code = "kafka.group_not_found"


class GroupBusy(Terminal):
    """The consumer group has running members, so its offsets cannot be changed."""

    code = "kafka.group_busy"


class KafkaRefused(Terminal):
    """The broker refused a request for a reason that trying again will not change."""

    code = "kafka.refused"


class NotAuthorized(Terminal, PermissionError):
    """The user lacks a right, which the message names."""

    code = "kafka.not_authorized"


class AuthenticationFailed(Terminal):
    """The cluster does not accept the user, the password or the certificate."""

    code = "kafka.authentication"


class BrokerUnavailable(Transient, ConnectionError):
    """No broker answers at the address."""

    code = "kafka.unavailable"


class DeliveryFailed(Transient):
    """The broker did not confirm a record in time; `details["record"]` has it."""

    code = "kafka.delivery_failed"


@dataclass(frozen=True)
class UndeliveredRecord:
    """A record that the broker did not confirm, as it can be sent again, and the reason."""

    topic: str
    key: object
    value: object
    partition: int | None
    timestamp: int | None
    headers: Sequence[tuple[str, str | bytes | None]]
    reason: PenstockError


class Undelivered(DeliveryFailed):
    """Records were not delivered: `count` says how many, `records` has them, the first ones if they are very many."""

    code = "kafka.undelivered"

    def __init__(self, message: str, *, hint: str, count: int, records: Sequence[UndeliveredRecord]) -> None:
        super().__init__(message, hint=hint, count=count)
        self.count = count
        self.records = tuple(records)


class CommitFailed(Transient):
    """The group's place was not moved past a record, which will be read again; `details["offsets"]` has the places."""

    code = "kafka.commit_failed"


class BufferFull(Transient):
    """The producer's buffer stayed full for as long as the call was allowed to wait."""

    code = "kafka.buffer_full"


class ConnectRefused(Terminal):
    """Kafka Connect said no, or what answers at its address is not Kafka Connect."""

    code = "connect.refused"


class ConnectorNotFound(Terminal, LookupError):
    """Kafka Connect has no such connector."""

    code = "connect.not_found"


class ConnectorFailed(Terminal):
    """A connector or one of its tasks ended in an error; the message has its innermost cause."""

    code = "connect.failed"


class ConnectUnavailable(Transient, ConnectionError):
    """Kafka Connect does not answer at its address."""

    code = "connect.unavailable"


class DatabaseRefused(Terminal):
    """The database does not accept the user, the database's name or a statement."""

    code = "database.refused"


class DatabaseUnfit(Terminal):
    """Change capture needs something that the database lacks; the hint has the SQL that mends it."""

    code = "database.unfit"


class DatabaseUnavailable(Transient, ConnectionError):
    """No database answers at the address, or it takes no more connections."""

    code = "database.unavailable"


class TargetRefused(Terminal):
    """What an action talks to, such as a web server or a command, said no to an event."""

    code = "action.refused"


class TargetUnavailable(Transient, ConnectionError):
    """What an action talks to does not answer, or asks to come back later."""

    code = "action.unavailable"
