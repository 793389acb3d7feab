"""Sizes on disk, requested with kafka-python: librdkafka lacks this request. kafka-python has no other use here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import KafkaRefused, NotAuthorized
from penstock.events.record import Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import BrokerId, read_cluster
from penstock.kafka.errors import Right, lacks
from penstock.kafka.offsets import PartitionId
from penstock.kafka.options import client_options

logging.getLogger("kafka").addHandler(logging.NullHandler())

_MS = 1000
_SAME = {
    "bootstrap.servers": "bootstrap_servers",
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class LogDir:
    """A broker's data directory: its disk, and the size of each partition."""

    broker: BrokerId
    path: str
    disk: int | None
    free: int | None
    sizes: Mapping[PartitionId, int]


def read_log_dirs(admin: Admin, topics: Sequence[str] | None = None) -> list[LogDir]:
    """Return the directories of all brokers, for `topics` or all. Raise NotAuthorized or KafkaRefused."""
    from kafka.admin import KafkaAdminClient  # noqa: PLC0415 - takes a third of a second, which other commands save
    from kafka.errors import KafkaError  # noqa: PLC0415 - as above

    settings = admin.settings
    alive = ",".join(f"{broker.host}:{broker.port}" for broker in read_cluster(admin).brokers)
    options = second_client_options({**client_options(settings), "bootstrap.servers": alive})
    milliseconds = int(settings.timeout * _MS)
    try:
        client = KafkaAdminClient(**options, bootstrap_timeout_ms=milliseconds, request_timeout_ms=milliseconds)
        try:
            answers = client.describe_log_dirs(topics)
        finally:
            client.close()
    except (KafkaError, OSError) as failure:
        raise KafkaRefused(f"reading sizes on disk: {failure}", bootstrap=settings.bootstrap) from failure
    return [_log_dir(answer["broker"], found) for answer in answers for found in _allowed(answer["log_dirs"], admin)]


def second_client_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return librdkafka's options under kafka-python's names."""
    same = {_SAME[name]: value for name, value in options.items() if name in _SAME}
    if "security_protocol" in same:
        same["security_protocol"] = str(same["security_protocol"]).upper()
    if "SASL" in same.get("security_protocol", "") and same.get("sasl_mechanism") not in _MECHANISMS:
        raise KafkaRefused(f"reading sizes on disk works with {', '.join(_MECHANISMS)} only")
    if options.get("ssl.endpoint.identification.algorithm") == "none":
        same["ssl_check_hostname"] = False
    return same


def _allowed(found: list[dict[str, Any]], admin: Admin) -> list[dict[str, Any]]:
    """Raise NotAuthorized for an empty list: Kafka's answer to users without the right."""
    if not found:
        raise NotAuthorized(f"reading sizes on disk: {lacks(admin.user, [Right('DESCRIBE', 'cluster')])}")
    return found


def _log_dir(broker: int, found: Mapping[str, Any]) -> LogDir:
    sizes = {
        PartitionId(TopicName(topic["name"]), Partition(part["partition_index"])): int(part["partition_size"])
        for topic in found["topics"]
        for part in topic["partitions"]
        if not part["is_future_key"]
    }
    return LogDir(
        BrokerId(broker), found["log_dir"], _known(found["total_bytes"]), _known(found["usable_bytes"]), sizes
    )


def _known(size: int) -> int | None:
    return None if size < 0 else size
