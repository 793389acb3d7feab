"""The settings of a job's clients: those of the process, with what the job's properties say."""

from __future__ import annotations

from typing import Final

from penstock.catalog.jobs.spec import JobSpec
from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.kafka.java_stores import without_java_stores

_BOOTSTRAP: Final = "bootstrap.servers"
_JAVA_ONLY: Final = frozenset(
    {
        *("key.deserializer", "value.deserializer", "specific.avro.reader"),
        *("max.poll.records", "enable.auto.commit"),
    }
)
"""What WhereHows' consumers were told, and what means nothing to a Spark query or to librdkafka."""


def job_settings(base: Settings, spec: JobSpec) -> Settings:
    """The cluster and the registry that the job names, and what it passes on to Kafka's clients."""
    given = without_java_stores({key: value for key, value in spec.kafka.items() if key not in _JAVA_ONLY})
    bootstrap = str(given.pop(_BOOTSTRAP, base.bootstrap))
    kafka = PassThrough({**base.kafka, **given})
    return base.model_copy(update={"bootstrap": bootstrap, "registry": spec.registry or base.registry, "kafka": kafka})
