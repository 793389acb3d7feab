"""Rules for job properties that are passed to Kafka clients.

Jobs are rows in a database. The authors of jobs are not always the operators of the process. A job therefore cannot
name code to load, commands to run or files to write. Secrets of this process are sent only to the addresses in the
settings.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from penstock.config.secrets import hide, is_secret

BOOTSTRAP: Final = "bootstrap.servers"
REGISTRY: Final = "schemaRegistryUrl"

IGNORED: Final = frozenset(
    {
        *("key.deserializer", "value.deserializer", "specific.avro.reader"),
        *("max.poll.records", "enable.auto.commit", "auto.commit.enable"),
    }
)
"""Properties of WhereHows' consumers without a meaning for Spark or librdkafka."""

SECURITY: Final = frozenset(
    {
        *("security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"),
        *("enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites"),
        *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem"),
        *("ssl.key.location", "ssl.key.pem", "ssl.key.password"),
        *(f"ssl.{store}.{part}" for store in ("keystore", "truststore") for part in ("location", "password", "type")),
    }
)
"""A client's identity and trust. A job that sets any of these properties must set all it needs."""

_CREDENTIALS = frozenset({"sasl.username", "sasl.password", "ssl.key.pem", "ssl.key.password"}) | {
    *(f"ssl.{store}.password" for store in ("keystore", "truststore")),
}
_ADDRESSES = frozenset({BOOTSTRAP, REGISTRY})
_OF_THIS_MACHINE = frozenset({"ssl.key.location", "ssl.certificate.location", "ssl.keystore.location"})
"""Properties for private keys and certificates of this machine."""

_TUNING = frozenset(
    {
        *("client.id", "client.rack", "client.dns.lookup", "broker.address.family", "broker.address.ttl"),
        *("fetch.min.bytes", "fetch.max.bytes", "fetch.wait.max.ms", "fetch.max.wait.ms", "fetch.message.max.bytes"),
        *("fetch.error.backoff.ms", "fetch.queue.backoff.ms", "max.partition.fetch.bytes", "receive.message.max.bytes"),
        *("queued.min.messages", "queued.max.messages.kbytes", "check.crcs", "isolation.level"),
        *("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "request.timeout.ms"),
        *("default.api.timeout.ms", "metadata.max.age.ms", "topic.metadata.refresh.interval.ms"),
        *("reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms"),
        *("connections.max.idle.ms", "socket.timeout.ms", "socket.connection.setup.timeout.ms"),
        *("socket.receive.buffer.bytes", "socket.send.buffer.bytes", "receive.buffer.bytes", "send.buffer.bytes"),
        *("socket.keepalive.enable", "socket.nagle.disable", "socket.max.fails"),
    }
)
ALLOWED: Final = frozenset({BOOTSTRAP}) | _TUNING | SECURITY | IGNORED

_BROKER = re.compile(r"[A-Za-z0-9._-]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")


def is_own_cluster(bootstrap: str, own: str) -> bool:
    """Whether the settings contain every broker of a job. A job without brokers uses the settings' cluster."""
    return not bootstrap or _brokers(bootstrap) <= _brokers(own)


def is_own_registry(urls: str, own: str) -> bool:
    """Whether the settings contain every registry of a job."""
    return {_origin(url) for url in urls.split(",")} <= {_origin(url) for url in own.split(",")}


def names_own_files(key: str) -> bool:
    """Whether a property names a private key or certificate file of this machine."""
    return key in _OF_THIS_MACHINE


def objection(key: str, variable: str, value: str, *, own_cluster: bool) -> str | None:
    """Return why a property must not use this environment variable, or None if allowed."""
    if key in _CREDENTIALS:
        return None if own_cluster else "secrets of the environment go to the brokers of the settings only"
    if key not in _ADDRESSES and not key.endswith(".location"):
        return "values of the environment are for addresses, files and credentials only"
    if is_secret(variable) or hide(variable, value) != value:
        return f"{variable} is a secret, and {key} is not"
    if key == BOOTSTRAP:
        is_address = all(_BROKER.fullmatch(broker.strip()) for broker in value.split(","))
        return None if is_address else f"{variable} is not a list of brokers, HOST:PORT"
    if key == REGISTRY:
        is_address = all(_origin(url)[0] in {"http", "https"} for url in value.split(","))
        return None if is_address else f"{variable} is not a list of http or https URLs"
    return None if own_cluster else "values of the environment go to the brokers of the settings only"


def _brokers(bootstrap: str) -> set[str]:
    return {broker.strip().lower() for broker in bootstrap.split(",") if broker.strip()}


def _origin(url: str) -> tuple[str, str]:
    """Return a URL's scheme and authority without user. For an invalid URL, the authority is the whole text."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return "", url
    return parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()
