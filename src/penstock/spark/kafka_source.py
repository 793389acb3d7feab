"""Kafka as a source: its settings, and the stream of messages that Spark reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pyspark.sql import DataFrame, SparkSession

from penstock.config import Settings
from penstock.errors import QueryInterrupted
from penstock.events.record import GroupName, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import Offsets, PartitionId, committed_offsets, end_offsets, first_offsets, offsets_at
from penstock.kafka.start import Moment, find_partitions, is_pattern
from penstock.kafka.topic_ids import topic_ids
from penstock.spark.client_options import java_client_options
from penstock.spark.decoding import MESSAGE_COLUMNS
from penstock.spark.queries.narrowing import OffsetRange
from penstock.spark.queries.position import NOWHERE, Position, spark_json
from penstock.spark.queries.start_plan import ClusterNow, StartPlan, plan_start

_FETCHING: Mapping[str, str] = {
    # Larger fetches than the client's defaults: a batch needs many fetches.
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
    # Spark requests existing records, so waiting for more is useless. A prefetch at the end of a partition blocks the
    # next request on the connection, by default for half a second: most of a small batch's time.
    "kafka.fetch.max.wait.ms": "5",
}

OnDataLoss = Literal["stop", "continue"]
MOST_RECORDS: Final = 2_000_000
"""Default maximum number of messages in a batch."""

_COMMITTED = {"kafka.isolation.level": "read_committed"}
"""Skip records of aborted transactions, such as an aborted replay of dead letters, as Penstock's consumers do."""


@dataclass(frozen=True)
class KafkaSource:
    """Topics by name or `^pattern`, the start of the first run, and the maximum size of a batch.

    `on_data_loss` applies to records lost before the query read them, because of retention or because a topic was
    recreated: `stop` ends the query with DataLost, `continue` reports the loss and continues with the oldest record.
    """

    settings: Settings
    topics: tuple[str, ...]
    start: Moment = "earliest"
    max_records: int = MOST_RECORDS
    on_data_loss: OnDataLoss = "stop"
    options: Mapping[str, object] = field(default_factory=dict)
    """Additional options of Spark's Kafka source."""


def read_stream(session: SparkSession, source: KafkaSource, start: Offsets) -> DataFrame:
    """Return the stream of messages from the given offsets on."""
    stream = session.readStream.format("kafka").options(**_options(source, start))
    return stream.load().select(*MESSAGE_COLUMNS)


def read_range(session: SparkSession, source: KafkaSource, part: OffsetRange) -> DataFrame:
    """Read a range of offsets again."""
    options = {
        **_FETCHING,
        **_COMMITTED,
        **java_client_options(source.settings),
        **_extra(source),
        "assign": json.dumps({part.partition.topic: [part.partition.partition]}),
        "startingOffsets": spark_json({part.partition: part.start}),
        "endingOffsets": spark_json({part.partition: part.end}),
        "includeHeaders": "true",
    }
    return session.read.format("kafka").options(**options).load().select(*MESSAGE_COLUMNS)


def find_start(
    source: KafkaSource, saved: Position | None, landed: Position | None, group: GroupName | None
) -> StartPlan:
    """Return where a query starts; raise DataLost if records were lost and `on_data_loss` is `stop`.

    The first available position applies: the saved position, the sink's position, the offsets of `group` if given, else
    the configured start.
    """
    saved = saved or landed
    with Admin(source.settings) as admin:
        partitions = find_partitions(admin, source.topics)
        first = first_offsets(admin, partitions)
        now = ClusterNow(
            first=first,
            end=end_offsets(admin, partitions),
            fresh=_fresh(admin, source.start, partitions),
            topic_ids=topic_ids(admin, {partition.topic for partition in partitions}),
            later=_found_later(source, first),
        )
        if saved is None and group is not None and (committed := committed_offsets(admin, group, partitions)):
            known = {topic: now.topic_ids[topic] for topic in {partition.topic for partition in committed}}
            saved = Position(committed, known)
    plan = plan_start(saved, now, landed or NOWHERE)
    if source.on_data_loss == "stop":
        plan.refuse_losses()
    return plan


def current_ids(admin: Admin, known: Position, places: Iterable[PartitionId]) -> dict[TopicName, str]:
    """Return the topic ids of the partitions, including newly matched topics; reject a recreated topic.

    Spark compares offsets only: if the new topic has enough records, Spark would continue in the middle of the topic.
    """
    now = topic_ids(admin, {place.topic for place in places})
    anew = sorted(topic for topic, topic_id in now.items() if known.topic_ids.get(topic, topic_id) != topic_id)
    if anew:
        raise QueryInterrupted(
            f"topic {', '.join(anew)} was deleted and made anew while it was read",
            hint="the next start tells what was lost, and goes on if on_data_loss says so",
        )
    return now


def _found_later(source: KafkaSource, first: Offsets) -> Offsets:
    """Return the start of topics discovered by a pattern after the last run.

    `latest` means the end of a topic only at the first start.
    """
    if source.start != "latest":
        return {}
    return {partition: offset for partition, offset in first.items() if partition.topic not in source.topics}


def _fresh(admin: Admin, start: Moment, partitions: list[PartitionId]) -> Offsets:
    match start:
        case "earliest":
            return first_offsets(admin, partitions)
        case "latest":
            return end_offsets(admin, partitions)
        case _:
            return offsets_at(admin, partitions, start)


def _options(source: KafkaSource, start: Offsets) -> Mapping[str, str]:
    return {
        **_FETCHING,
        **_COMMITTED,
        **java_client_options(source.settings),
        **_extra(source),
        **_subscription(source.topics),
        "startingOffsets": spark_json(start),
        "maxOffsetsPerTrigger": str(source.max_records),
        "includeHeaders": "true",
        # Losses before the start are detected and reported there; a loss in a running query must be an error.
        "failOnDataLoss": "true",
    }


def _extra(source: KafkaSource) -> dict[str, str]:
    return {name: str(value) for name, value in source.options.items()}


def _subscription(topics: tuple[str, ...]) -> dict[str, str]:
    if not any(is_pattern(topic) for topic in topics):
        return {"subscribe": ",".join(topics)}
    return {"subscribePattern": whole_pattern(topics)}


def whole_pattern(topics: tuple[str, ...]) -> str:
    """Return a single pattern for Spark, which matches whole names; Penstock's patterns match prefixes."""
    each = (f"(?:{topic}).*" if is_pattern(topic) else re.escape(topic) for topic in topics)
    return f"(?!__)(?:{'|'.join(each)})"
