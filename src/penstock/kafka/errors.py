"""Translation of librdkafka's errors to Penstock's, in one place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import (
    AuthenticationFailed,
    BrokerUnavailable,
    BufferFull,
    DeliveryFailed,
    GroupBusy,
    GroupNotFound,
    KafkaRefused,
    NotAuthorized,
    OperationTimedOut,
    PenstockError,
    RecordTooLarge,
    TopicExists,
    TopicNotFound,
    UsageError,
)

_START_HINT = "is Kafka running there? `penstock up` starts one, PENSTOCK_BOOTSTRAP names another"
_RIGHT_HINT = "ask an administrator for an ACL that allows it, or use another user"

_KINDS: dict[int, tuple[type[PenstockError], str]] = {
    KafkaError._ALL_BROKERS_DOWN: (BrokerUnavailable, _START_HINT),  # noqa: SLF001 - librdkafka's own codes start with _
    KafkaError._TRANSPORT: (BrokerUnavailable, _START_HINT),  # noqa: SLF001 - as above
    KafkaError._RESOLVE: (BrokerUnavailable, "the host name cannot be resolved; check the address"),  # noqa: SLF001 - as above
    KafkaError._BAD_MSG: (KafkaRefused, "what answers there is not Kafka, or wants another security.protocol"),  # noqa: SLF001 - as above
    KafkaError._TIMED_OUT: (OperationTimedOut, _START_HINT),  # noqa: SLF001 - as above
    KafkaError._TIMED_OUT_QUEUE: (OperationTimedOut, _START_HINT),  # noqa: SLF001 - as above
    KafkaError.REQUEST_TIMED_OUT: (OperationTimedOut, "the broker was too slow; try again"),
    KafkaError._MSG_TIMED_OUT: (DeliveryFailed, _START_HINT),  # noqa: SLF001 - as above
    KafkaError._PURGE_QUEUE: (DeliveryFailed, _START_HINT),  # noqa: SLF001 - as above
    KafkaError._PURGE_INFLIGHT: (DeliveryFailed, "it may have arrived all the same; " + _START_HINT),  # noqa: SLF001 - as above
    KafkaError.NOT_ENOUGH_REPLICAS: (DeliveryFailed, "too few in-sync replicas; `penstock topics describe` shows them"),
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (DeliveryFailed, "too few in-sync replicas"),
    KafkaError._QUEUE_FULL: (BufferFull, "send more slowly, or raise buffer_messages and buffer_kib"),  # noqa: SLF001 - as above
    KafkaError.MSG_SIZE_TOO_LARGE: (RecordTooLarge, "raise max.message.bytes on topic and message.max.bytes here"),
    KafkaError.RECORD_LIST_TOO_LARGE: (RecordTooLarge, "raise max.message.bytes on topic and message.max.bytes here"),
    KafkaError.INVALID_MSG_SIZE: (RecordTooLarge, "raise max.message.bytes on topic and message.max.bytes here"),
    KafkaError.UNKNOWN_TOPIC_OR_PART: (TopicNotFound, "`penstock topics list` shows what is there"),
    KafkaError._UNKNOWN_TOPIC: (TopicNotFound, "`penstock topics list` shows what is there"),  # noqa: SLF001 - as above
    KafkaError._NOENT: (OperationTimedOut, "a partition has no leader now; `penstock topics describe` shows it"),  # noqa: SLF001 - as above
    KafkaError._UNKNOWN_PARTITION: (UsageError, "`penstock topics describe` shows the partitions"),  # noqa: SLF001 - as above
    KafkaError.TOPIC_ALREADY_EXISTS: (TopicExists, "`penstock topics alter` changes it"),
    KafkaError.NOT_COORDINATOR: (OperationTimedOut, "the group's coordinator is moving; try again"),
    KafkaError.COORDINATOR_NOT_AVAILABLE: (OperationTimedOut, "the group has no coordinator yet; try again"),
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: (OperationTimedOut, "the group's coordinator is starting; try again"),
    KafkaError.GROUP_ID_NOT_FOUND: (GroupNotFound, "`penstock groups list` shows what is there"),
    KafkaError.NON_EMPTY_GROUP: (GroupBusy, "stop the group's members first"),
    KafkaError.UNKNOWN_MEMBER_ID: (GroupBusy, "stop the group's members first"),
    KafkaError._AUTHENTICATION: (AuthenticationFailed, "check user, password and mechanism"),  # noqa: SLF001 - as above
    KafkaError.SASL_AUTHENTICATION_FAILED: (AuthenticationFailed, "check user, password and mechanism"),
    KafkaError._SSL: (AuthenticationFailed, "check ssl.ca.location and the certificate's host name"),  # noqa: SLF001 - as above
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (NotAuthorized, _RIGHT_HINT),
    KafkaError.GROUP_AUTHORIZATION_FAILED: (NotAuthorized, _RIGHT_HINT),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: (NotAuthorized, _RIGHT_HINT),
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (NotAuthorized, _RIGHT_HINT),
    KafkaError.TOPIC_EXCEPTION: (UsageError, "a name has letters, digits, '.', '_' and '-', 249 at most"),
    KafkaError.INVALID_PARTITIONS: (UsageError, "partitions can be added to a topic, never taken away"),
    KafkaError.INVALID_REPLICATION_FACTOR: (UsageError, "`penstock brokers list` shows how many brokers there are"),
    KafkaError.INVALID_CONFIG: (UsageError, "`penstock topics describe TOPIC --all` lists names and values"),
    KafkaError.TOPIC_DELETION_DISABLED: (KafkaRefused, "the brokers have delete.topic.enable=false"),
    KafkaError._INVALID_ARG: (UsageError, "see librdkafka's settings"),  # noqa: SLF001 - as above
}


_CONNECTION_STATE = re.compile(r"^\S+/(bootstrap|\d+): | \(after \d+ms in state .*\)$")

_DENIED_RESOURCE = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional-id",
}


class Right(NamedTuple):
    """A right of Kafka's ACLs: an operation (`CREATE`) on a resource (`topic`, `orders`)."""

    operation: str
    resource: Literal["topic", "group", "cluster", "transactional-id"]
    name: str = ""

    def __str__(self) -> str:
        """Render as `CREATE on topic 'orders'`."""
        return f"{self.operation} on {self.resource}" + (f" '{self.name}'" if self.name else "")


def translate(
    error: KafkaError, tried: str, *, needs: Sequence[Right] = (), user: str = "", **details: object
) -> PenstockError:
    """Return the PenstockError for an error of librdkafka: attempted operation, reason and hint.

    `needs` lists the rights that the operation needs; if access is denied, the message names the missing right.
    """
    kind, hint = _KINDS.get(KafkaError._SSL if _of_openssl(error) else error.code(), (None, ""))  # noqa: SLF001 - as above
    if kind is None:
        kind = OperationTimedOut if error.retriable() else KafkaRefused
    denied = kind is NotAuthorized and needs
    text = _lacking(error, needs, user) if denied else _CONNECTION_STATE.sub("", error.str().strip())
    return kind(f"{tried}: {text}", hint=hint, kafka_error=error.name(), **details)


def _of_openssl(error: KafkaError) -> bool:
    """Whether OpenSSL failed: librdkafka reports the failure of a second handshake as a lost connection."""
    return error.code() == KafkaError._TRANSPORT and "SSL routines" in error.str()  # noqa: SLF001 - as above


def _lacking(error: KafkaError, needs: Sequence[Right], user: str) -> str:
    denied = _DENIED_RESOURCE[error.code()]
    return lacks(user, [right for right in needs if right.resource == denied] or needs)


def lacks(user: str, rights: Sequence[Right]) -> str:
    """Return a text that names the user and the missing rights."""
    who = f"user '{user}'" if user else "the user"
    return f"{who} lacks {' and '.join(map(str, rights))}"


@contextmanager
def translated(tried: str, *, needs: Sequence[Right] = (), user: str = "", **details: object) -> Iterator[None]:
    """Translate librdkafka's exceptions inside the block; `tried` describes the block's operation."""
    try:
        yield
    except KafkaException as failure:
        raise translate(failure.args[0], tried, needs=needs, user=user, **details) from failure
    except BufferError as failure:
        full = KafkaError(KafkaError._QUEUE_FULL, "the buffer is full")  # noqa: SLF001 - as above
        raise translate(full, tried, needs=needs, user=user, **details) from failure
