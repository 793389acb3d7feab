"""Finding a topic when a client is made: within the stated time, with an error that names the cause."""

from __future__ import annotations

from time import monotonic, sleep
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin._metadata import ClusterMetadata, TopicMetadata

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.errors import Right, translate
from penstock.kafka.watch import ConnectionWatch

_CREATION_SECONDS = 3.0
"""How long a topic that is not there is waited for: the broker may be creating it because we asked."""

_ASK_SECONDS = 0.5
_PAUSE_SECONDS = 0.1
_NOT_YET = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE}


class MetadataClient(Protocol):
    """A librdkafka client, which can tell of the cluster and serves its callbacks when polled."""

    def list_topics(self, topic: str, timeout: float) -> ClusterMetadata:
        """What the cluster says of a topic."""
        ...

    def poll(self, timeout: float) -> object:
        """Serve callbacks, for as long as the time-out at most."""
        ...


class TopicLookup:
    """Asks one client for one topic; `watch` is the client's `error_cb`."""

    def __init__(self, client: MetadataClient, topic: str, settings: Settings, watch: ConnectionWatch) -> None:
        self._client = client
        self._topic = topic
        self._settings = settings
        self._watch = watch

    def partition_count(self, *needs: Right) -> int:
        """How many partitions the topic has; TopicNotFound, BrokerUnavailable and the like end the waiting."""
        give_up = monotonic() + _CREATION_SECONDS
        while (found := self._ask()).error is not None:
            if found.error.code() not in _NOT_YET or monotonic() >= give_up:
                tried = f"looking for topic {self._topic} at {self._settings.bootstrap}"
                user = str(self._settings.kafka.get("sasl.username", ""))
                raise translate(found.error, tried, needs=needs, user=user, topic=self._topic)
            sleep(_PAUSE_SECONDS)
        return len(found.partitions)

    def _ask(self) -> TopicMetadata:
        self._watch.restart()
        deadline = monotonic() + self._settings.timeout
        while True:
            try:
                return self._client.list_topics(self._topic, timeout=_ASK_SECONDS).topics[self._topic]
            except KafkaException as failure:
                self._client.poll(0)
                if self._watch.hopeless or monotonic() >= deadline:
                    raise self._unreachable(failure.args[0]) from failure

    def _unreachable(self, failure: KafkaError) -> PenstockError:
        tried = f"connecting to Kafka at {self._settings.bootstrap}"
        return translate(self._watch.reason or failure, tried, bootstrap=self._settings.bootstrap)
