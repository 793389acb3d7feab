"""Look up a topic when a client is created: within the timeout, with an error that names the cause."""

from __future__ import annotations

from time import monotonic, sleep

from confluent_kafka import KafkaError
from confluent_kafka.admin import TopicMetadata

from penstock.config import Settings
from penstock.kafka.errors import Right, translate, translated
from penstock.kafka.metadata import MetadataClient, read_metadata
from penstock.kafka.watch import ConnectionWatch

_CREATION_SECONDS = 3.0
"""How long to wait for a missing topic: the broker may be creating it because of the lookup."""

_PAUSE_SECONDS = 0.1
_NOT_YET = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE}


class TopicLookup:
    """Looks up a topic with a given client. `watch` is the client's `error_cb`."""

    def __init__(self, client: MetadataClient, topic: str, settings: Settings, watch: ConnectionWatch) -> None:
        self._client = client
        self._topic = topic
        self._settings = settings
        self._watch = watch

    def partition_count(self, *needs: Right) -> int:
        """Return the number of partitions. Raise TopicNotFound, BrokerUnavailable and the like."""
        give_up = monotonic() + _CREATION_SECONDS
        while (found := self._ask()).error is not None:
            if found.error.code() not in _NOT_YET or monotonic() >= give_up:
                tried = f"looking for topic {self._topic} at {self._settings.bootstrap}"
                user = str(self._settings.kafka.get("sasl.username", ""))
                raise translate(found.error, tried, needs=needs, user=user, topic=self._topic)
            sleep(_PAUSE_SECONDS)
        return len(found.partitions)

    def _ask(self) -> TopicMetadata:
        bootstrap = self._settings.bootstrap
        with translated(f"connecting to Kafka at {bootstrap}", bootstrap=bootstrap):
            metadata = read_metadata(self._client, self._watch, self._settings.timeout, self._topic)
        return metadata.topics[self._topic]
