"""Dead letters: rejected messages with key, value and headers, plus headers for the reason, time and origin."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from penstock.config import Settings
from penstock.events.dead_letter import (
    ERROR_CODE,
    ERROR_MESSAGE,
    FAILED_AT,
    MAX_HEADER,
    OF_A_REFUSAL,
    ORIGIN,
    PIPELINE,
)
from penstock.kafka.letter_room import ensure_letter_room
from penstock.kafka.topics import MAX_LETTER_BYTES, ensure_dead_letters
from penstock.spark.client_options import java_client_options
from penstock.spark.decoding import PROBLEM, origin_of
from penstock.spark.failures import spark_failures
from penstock.spark.headers import header, own_headers

_LARGE = {"kafka.max.request.size": str(MAX_LETTER_BYTES), "kafka.buffer.memory": str(2 * MAX_LETTER_BYTES)}
_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


@dataclass(frozen=True)
class DeadLetters:
    """Dead-letter topic of a pipeline. Messages are written at least once, each with its origin."""

    settings: Settings
    topic: str
    pipeline: str

    def prepare(self, sources: Collection[str]) -> None:
        """Create the topic if it does not exist, and let it accept the largest messages of the sources."""
        if not ensure_dead_letters(self.settings, self.topic):
            ensure_letter_room(self.settings, self.topic, sources)

    def write(self, refused: DataFrame) -> None:
        """Write rejected messages; the column `problem` contains the reason."""
        letters = dead_letters(refused, self.pipeline)
        options = {**_LARGE, **java_client_options(self.settings)}
        writing = letters.write.format("kafka").mode("append").options(**options)
        with spark_failures(f"writing dead letters to {self.topic}"):
            writing.option("topic", self.topic).save()


def dead_letters(refused: DataFrame, pipeline: str) -> DataFrame:
    """Return the records for the dead-letter topic."""
    told = {
        ERROR_CODE: F.col(PROBLEM).getField("code"),
        ERROR_MESSAGE: F.substring(F.col(PROBLEM).getField("message"), 1, MAX_HEADER),
        PIPELINE: F.lit(pipeline),
        FAILED_AT: F.date_format(F.current_timestamp(), _ISO),
        ORIGIN: origin_of(F.col("topic"), F.col("partition"), F.col("offset")),
    }
    ours = F.array(*(header(name, value) for name, value in told.items()))
    theirs = F.filter(own_headers(F.col("headers")), lambda each: ~each.getField("key").isin(*OF_A_REFUSAL))
    return refused.select("key", "value", F.concat(theirs, ours).alias("headers"))
