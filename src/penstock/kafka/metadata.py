"""Asking a cluster for its brokers and topics, with an early end where no broker will answer."""

from __future__ import annotations

import time
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ClusterMetadata

from penstock.kafka.watch import ConnectionWatch

_FIRST_WAIT = 0.5


class MetadataClient(Protocol):
    """A librdkafka client, which can tell of the cluster and serves its callbacks when polled."""

    def list_topics(self, topic: str | None, timeout: float) -> ClusterMetadata:
        """What any broker that answers says of one topic, or of all."""
        ...

    def poll(self, timeout: float) -> object:
        """Serve callbacks, for as long as the time-out at most."""
        ...


def read_metadata(
    client: MetadataClient, watch: ConnectionWatch, timeout: float, topic: str | None = None
) -> ClusterMetadata:
    """The cluster's metadata; the KafkaException of a failure names its cause. `watch` is the client's `error_cb`.

    Asked in turns that grow longer, because librdkafka waits without looking at its connections.
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
                silent = KafkaError(KafkaError._TRANSPORT, f"no answer within {timeout:g} s")  # noqa: SLF001 - librdkafka's own codes begin so
                raise KafkaException(watch.reason or silent) from failure
        turn = min(turn * 2, max(deadline - time.monotonic(), _FIRST_WAIT))
