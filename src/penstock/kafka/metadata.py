"""Request a cluster's brokers and topics, and fail early if no broker will answer."""

from __future__ import annotations

import time
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ClusterMetadata

from penstock.kafka.watch import ConnectionWatch

_FIRST_WAIT = 0.5


class MetadataClient(Protocol):
    """A librdkafka client: requests metadata, and serves callbacks when polled."""

    def list_topics(self, topic: str | None, timeout: float) -> ClusterMetadata:
        """Return the metadata of a topic, or of all topics, from any broker that answers."""
        ...

    def poll(self, timeout: float) -> object:
        """Serve callbacks, for at most `timeout` seconds."""
        ...


def read_metadata(
    client: MetadataClient, watch: ConnectionWatch, timeout: float, topic: str | None = None
) -> ClusterMetadata:
    """Return the cluster's metadata. A KafkaException names the cause of a failure.

    `watch` is the client's `error_cb`. Requests are repeated with growing timeouts, because librdkafka waits without
    checking its connections.
    """
    client.poll(0)
    watch.restart()
    deadline, turn = time.monotonic() + timeout, _FIRST_WAIT
    while True:
        try:
            return client.list_topics(topic, timeout=min(turn, timeout))
        except KafkaException as failure:
            client.poll(0)
            if watch.hopeless or time.monotonic() >= deadline:
                silent = KafkaError(KafkaError._TRANSPORT, f"no answer within {timeout:g} s")  # noqa: SLF001 - librdkafka's own codes start with _
                raise KafkaException(watch.reason or silent) from failure
        turn = min(turn * 2, max(deadline - time.monotonic(), _FIRST_WAIT))
