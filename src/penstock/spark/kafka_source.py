"""Kafka as a source: what is read, and the stream of messages that Spark makes of it."""

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
    # Larger bites than the client's own: a batch is worth many of them.
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
    # Spark asks for records that are there, so waiting for more is in vain. A fetch ahead at the end of a partition
    # holds up what is asked next on the same connection, by default for half a second: most of a small batch's time.
    "kafka.fetch.max.wait.ms": "5",
}

OnDataLoss = Literal["stop", "continue"]
MOST_RECORDS: Final = 2_000_000
"""How many messages a batch takes unless a pipeline says otherwise."""

_COMMITTED = {"kafka.isolation.level": "read_committed"}
"""What a producer took back, a replay of dead letters for one, is no record, and our other consumers see none of it."""


@dataclass(frozen=True)
class KafkaSource:
    """Topics by name or `^pattern`, where the first run starts, and how much one batch takes at most.

    `on_data_loss` is the rule for records that were gone before they were read, by retention or because a topic was
    made anew: `stop` ends the query with DataLost, `continue` reports the loss and goes on with the oldest record.
    """

    settings: Settings
    topics: tuple[str, ...]
    start: Moment = "earliest"
    max_records: int = MOST_RECORDS
    on_data_loss: OnDataLoss = "stop"
    options: Mapping[str, object] = field(default_factory=dict)
    """Further options of Spark's Kafka source."""


def read_stream(session: SparkSession, source: KafkaSource, start: Offsets) -> DataFrame:
    """The messages from the given offsets on, as they arrive."""
    stream = session.readStream.format("kafka").options(**_options(source, start))
    return stream.load().select(*MESSAGE_COLUMNS)


def read_range(session: SparkSession, source: KafkaSource, part: OffsetRange) -> DataFrame:
    """A few messages again, by their offsets."""
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
    """Where a query begins: where it was, or its sink, else where the group is if one counts, else at the start."""
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
    """The ids of these partitions' topics, also of those that a pattern has found since; refuses a topic made anew.

    Spark goes by offsets alone: it would read on in the middle of a new topic that has enough records.
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
    """Where topics begin that a pattern has found since the last start: `latest` is the end at the first start only."""
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
        # What was lost is found and reported before a query starts; while it runs, a loss must not pass unseen.
        "failOnDataLoss": "true",
    }


def _extra(source: KafkaSource) -> dict[str, str]:
    return {name: str(value) for name, value in source.options.items()}


def _subscription(topics: tuple[str, ...]) -> dict[str, str]:
    if not any(is_pattern(topic) for topic in topics):
        return {"subscribe": ",".join(topics)}
    return {"subscribePattern": whole_pattern(topics)}


def whole_pattern(topics: tuple[str, ...]) -> str:
    """One pattern for Spark, which matches whole names, where ours need only match the beginning."""
    each = (f"(?:{topic}).*" if is_pattern(topic) else re.escape(topic) for topic in topics)
    return f"(?!__)(?:{'|'.join(each)})"
